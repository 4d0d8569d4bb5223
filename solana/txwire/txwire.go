// Package txwire reads and writes transactions in the network's format: legacy, version 0 and
// version 1.
//
// In: bytes, which may be hostile. Out: Transaction, whose slices borrow these bytes.
// Guarantees: never panics. Work and memory are proportional to the input. What Parse accepts,
// Append writes back byte for byte.
//
// Sources: the crates solana-message 6.0.0, solana-transaction 6.0.0 and solana-short-vec;
// SIMD-0385 for version 1.
package txwire

import (
	"errors"
	"fmt"
	"strconv"
)

// Version is the version of a transaction.
type Version int8

// The versions that are known. Highest is what to ask nodes for, as
// maxSupportedTransactionVersion.
const (
	Legacy Version = -1
	V0     Version = 0
	V1     Version = 1

	Highest = V1
)

// String is the version as JSON-RPC names it: legacy, 0, 1.
func (v Version) String() string {
	if v == Legacy {
		return "legacy"
	}
	return strconv.Itoa(int(v))
}

// MaxBytes is how long a transaction of the version may be: a packet of 1,232 bytes (solana-packet,
// PACKET_DATA_SIZE), or 4,096 bytes from version 1 on (SIMD-0296).
func (v Version) MaxBytes() int {
	if v >= V1 {
		return 4096
	}
	return 1232
}

// Lengths in bytes.
const (
	SignatureSize = 64
	KeySize       = 32
)

// Transaction is a transaction in its parts. A part that its version does not have is empty.
type Transaction struct {
	Version Version
	// Signatures have 64 bytes each. The first one is the transaction's id.
	Signatures [][]byte
	Header     Header
	// Config is a part of version 1 only.
	Config Config
	// Keys have 32 bytes each: writable signers, of which the first pays, readonly signers, other
	// writable accounts, other readonly accounts. Addresses from lookup tables are not in Keys.
	Keys [][]byte
	// Lifetime is the recent blockhash, or the nonce in its place; 32 bytes.
	Lifetime     []byte
	Instructions []Instruction
	// Lookups are a part of version 0 only.
	Lookups []Lookup
}

// Header counts the first keys.
type Header struct {
	// Signers is how many keys sign. ReadonlySigners is how many of these are readonly, and
	// ReadonlyOthers how many of the keys that do not sign are readonly.
	Signers, ReadonlySigners, ReadonlyOthers uint8
}

// Instruction is an outer instruction. Program, and each byte of Accounts, is an index into the
// keys followed by the addresses from lookup tables.
type Instruction struct {
	Program        uint8
	Accounts, Data []byte
}

// Lookup takes addresses from a lookup table. Table is the table's address. Each byte of Writable
// and Readonly is an index into the table.
type Lookup struct {
	Table              []byte
	Writable, Readonly []byte
}

// Reasons to refuse a transaction, for errors.Is.
var (
	// ErrMalformed means that the bytes are no transaction of any version.
	ErrMalformed = errors.New("malformed transaction")
	// ErrLimit means that the transaction has more of something than the runtime allows.
	ErrLimit = errors.New("transaction above a limit")
)

// VersionError means that a transaction is of a version above the highest that is read.
type VersionError struct {
	Version uint8
	Highest Version
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("transaction version %d, read are legacy to %s", e.Version, e.Highest)
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Reset empties the transaction and keeps its slices for the next one.
func (t *Transaction) Reset() {
	*t = Transaction{Version: Legacy, Signatures: t.Signatures[:0], Keys: t.Keys[:0], Instructions: t.Instructions[:0], Lookups: t.Lookups[:0]}
}

// loaded returns how many addresses come from lookup tables.
func (t *Transaction) loaded() (n int) {
	for i := range t.Lookups {
		n += len(t.Lookups[i].Writable) + len(t.Lookups[i].Readonly)
	}
	return n
}
