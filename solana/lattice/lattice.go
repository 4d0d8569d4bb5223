// Package lattice computes the accounts lattice hash of a bank (SIMD-0215).
//
// In: accounts. Out: a hash of 2,048 bytes, which is a sum over accounts: it does not depend on
// their order, and an account can be taken off again.
// Guarantees: pure. An account without lamports does not exist and adds nothing.
package lattice

import (
	"encoding/binary"

	"lukechampine.com/blake3"
	"lukechampine.com/blake3/guts"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Size is the length of a hash in bytes: 1,024 little-endian numbers of 16 bits.
const Size = 2048

// Hash is a sum of account hashes; the zero value is the sum of none. Each word has four of the
// 1,024 numbers, the first in its lowest 16 bits.
type Hash [Size / 8]uint64

// high has the highest bit of each 16-bit number of a word.
const high = 0x8000_8000_8000_8000

// Add adds another sum: each 16-bit number on its own, modulo 65,536.
func (h *Hash) Add(other *Hash) {
	for i, b := range other {
		a := h[i]
		h[i] = ((a &^ high) + (b &^ high)) ^ ((a ^ b) & high)
	}
}

// Sub takes off another sum.
func (h *Hash) Sub(other *Hash) {
	for i, b := range other {
		a := h[i]
		h[i] = ((a | high) - (b &^ high)) ^ ((a ^ ^b) & high)
	}
}

// Bytes returns the hash as snapshots and bank hashes have it.
func (h *Hash) Bytes() (out [Size]byte) {
	for i, word := range h {
		binary.LittleEndian.PutUint64(out[i*8:], word)
	}
	return out
}

// FromBytes reads what Bytes returns.
func FromBytes(raw *[Size]byte) *Hash {
	h := new(Hash)
	h.set(raw)
	return h
}

func (h *Hash) set(raw *[Size]byte) {
	for i := range h {
		h[i] = binary.LittleEndian.Uint64(raw[i*8:])
	}
}

// Checksum returns the BLAKE3 hash of the sum, which the names of snapshot files contain
// (SIMD-0220).
func (h *Hash) Checksum() [32]byte {
	raw := h.Bytes()
	return blake3.Sum256(raw[:])
}

// Account is what an account's hash covers.
type Account struct {
	Address    pubkey.Key
	Owner      pubkey.Key
	Lamports   uint64
	Executable bool
	Data       []byte
}

// Hasher hashes accounts, one after the other. It is for one goroutine; the zero value is ready.
type Hasher struct {
	in  []byte
	out [Size]byte
	one Hash
}

// Account returns the hash of one account: BLAKE3, extended to 2,048 bytes, of lamports, data,
// executable, owner and address. It is valid until the next call.
func (h *Hasher) Account(a *Account) *Hash {
	h.one = Hash{}
	if a.Lamports == 0 {
		return &h.one
	}
	h.in = binary.LittleEndian.AppendUint64(h.in[:0], a.Lamports)
	h.in = append(h.in, a.Data...)
	executable := byte(0)
	if a.Executable {
		executable = 1
	}
	h.in = append(append(append(h.in, executable), a.Owner[:]...), a.Address[:]...)
	h.extend()
	h.one.set(&h.out)
	return &h.one
}

// extend hashes in to out. Most accounts fit in one chunk of BLAKE3, 1,024 bytes. For these it
// calls the compression function directly, because the library's streaming interface takes more
// than twice as long.
func (h *Hasher) extend() {
	if len(h.in) > guts.ChunkSize {
		hasher := blake3.New(32, nil)
		_, _ = hasher.Write(h.in)          // never fails
		_, _ = hasher.XOF().Read(h.out[:]) // never fails
		return
	}
	const each = guts.MaxSIMD * guts.BlockSize
	node := guts.CompressChunk(h.in, &guts.IV, 0, 0)
	node.Flags |= guts.FlagRoot
	for i := range Size / each {
		node.Counter = uint64(i) * guts.MaxSIMD
		guts.CompressBlocks((*[each]byte)(h.out[i*each:]), node)
	}
}
