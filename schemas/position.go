// Package schemas holds Mintlake's contracts: events and their topics, positions, and the tables
// they become.
//
// In: nothing. Out: types and constants that every room shares. Guarantees: what is written here
// only grows; a stored record of an older version stays readable.
package schemas

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Position is a place on the chain packed into one unsigned 128-bit integer, Slot above Order. It
// orders facts: of two facts about one thing the one with the higher position holds.
//
// Order packs, from the high bits: transaction (24: a set bit and its index; where the source did
// not say that, a clear bit and the beginning of its signature), outer instruction (12), inner
// instruction + 1 (14; 0 = the outer one itself), batch index + 1 (14; 0 = no batch). Solana bounds
// a transaction to 64 instructions in all and a block to far fewer than 2^23 transactions.
type Position struct {
	Slot  uint64
	Order uint64
}

const (
	transactionBits = 24
	outerBits       = 12
	innerBits       = 14
	batchBits       = 14

	// knownIndex marks a transaction whose place in its block the source said. The others sort
	// before all of these, among themselves by signature: the copy of an instruction that knows its
	// place beats the one that does not, and so does whatever else of the slot has one, as it may
	// have come later.
	knownIndex = 1 << (transactionBits - 1)
	// inTransaction are the bits of Order inside a transaction, all set behind its last
	// instruction.
	inTransaction = 1<<(outerBits+innerBits+batchBits) - 1
)

// PositionOf packs p. The signature stands in for a transaction index that the source did not say,
// so that two such transactions of one slot differ. Values beyond their bits are clamped to the
// largest.
func PositionOf(p *eventspb.Position, signature []byte) Position {
	transaction := signatureTag(signature) >> (64 - (transactionBits - 1))
	if p.TransactionIndex != nil {
		transaction = knownIndex | min(uint64(*p.TransactionIndex), knownIndex-1)
	}
	return Position{Slot: p.GetSlot(), Order: joined(transaction, p)}
}

func signatureTag(signature []byte) uint64 {
	var tag [8]byte
	copy(tag[:], signature)
	return binary.BigEndian.Uint64(tag[:])
}

// EndOfSlot is the position of an account read at a slot: behind every instruction of that slot.
func EndOfSlot(slot uint64) Position {
	return Position{Slot: slot, Order: math.MaxUint64}
}

// EndOfTransaction is the position of an account as the transaction with this index left it: behind
// every instruction of it and before the next transaction.
func EndOfTransaction(slot uint64, index uint32) Position {
	transaction := knownIndex | min(uint64(index), knownIndex-1)
	return Position{Slot: slot, Order: transaction<<(outerBits+innerBits+batchBits) | inTransaction}
}

// Compare returns -1, 0 or +1 as p lies before, at or behind q.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Slot, q.Slot); c != 0 {
		return c
	}
	return cmp.Compare(p.Order, q.Order)
}

// Reverse maps positions to positions in the opposite order, for facts of which the earliest holds.
func (p Position) Reverse() Position {
	return Position{Slot: ^p.Slot, Order: ^p.Order}
}

// BigInt is the position as ClickHouse's UInt128.
func (p Position) BigInt() *big.Int {
	n := new(big.Int).SetUint64(p.Slot)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(p.Order))
}

// PositionFromBigInt is the inverse of BigInt; bits above 128 are ignored.
func PositionFromBigInt(n *big.Int) Position {
	var raw [16]byte
	low := new(big.Int).And(n, maxPosition)
	low.FillBytes(raw[:])
	return Position{Slot: binary.BigEndian.Uint64(raw[:8]), Order: binary.BigEndian.Uint64(raw[8:])}
}

var maxPosition = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))

// InstructionID identifies an instruction wherever it is seen again, also when one source knows the
// transaction's index and another does not: the signature's first eight bytes and the place inside
// the transaction.
type InstructionID [16]byte

// InstructionIDOf identifies the instruction at p of the transaction with this signature.
func InstructionIDOf(p *eventspb.Position, signature []byte) InstructionID {
	var id InstructionID
	binary.BigEndian.PutUint64(id[:8], signatureTag(signature))
	binary.BigEndian.PutUint64(id[8:], PackPlace(p))
	return id
}
