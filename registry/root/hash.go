// Package root is the registry's root: one short hash over what the chain says of every token.
//
// In: states of the fold, or the facts that make them. Out: a root, which is a slot, a count and 32 bytes. Guarantees: pure; the same
// facts give the same root in any order, with any repeats, in one part or in many that are combined; a root can be kept up to date at
// a cost that grows with what changed and not with the registry.
//
// The root is a lattice hash of a set with one element per token. docs/registry-root.md says what an element holds, what a root proves
// and what it does not.
package root

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mr-tron/base58"
	"lukechampine.com/blake3"
	"lukechampine.com/blake3/guts"
)

// StateSize is the size of a Hash in bytes: 1,024 lanes of 16 bits.
const StateSize = 2048

// Hash is a homomorphic hash of a set of elements, each a string of bytes: LtHash16 with 1,024 lanes (Bellare and Micciancio 1997;
// Lewi, Kim, Maykov, Weis, "Securing Update Propagation with Homomorphic Hashing", 2019) over BLAKE3, lane by lane the same as
// Solana's accounts lattice hash (SIMD-0215). The zero value is the hash of the empty set. Hashes compare with ==.
//
// The order of Add and Remove does not matter. Adding an element twice is not adding it once: what is added is a multiset, and 65,536
// times the same element are none. Whoever adds sees to it that an element is added once.
type Hash struct {
	words [StateSize / 8]uint64 // four lanes each, the first in the lowest bits
}

// Add puts an element in.
func (h *Hash) Add(element []byte) {
	var expanded [StateSize]byte
	expand(&expanded, element)
	h.add(&expanded)
}

func (h *Hash) add(expanded *[StateSize]byte) {
	for i := range h.words {
		h.words[i] = addLanes(h.words[i], binary.LittleEndian.Uint64(expanded[8*i:]))
	}
}

// Remove takes out an element that was added. Taking out one that was not leaves a hash that no set has.
func (h *Hash) Remove(element []byte) {
	var expanded [StateSize]byte
	expand(&expanded, element)
	h.subtract(&expanded)
}

func (h *Hash) subtract(expanded *[StateSize]byte) {
	for i := range h.words {
		h.words[i] = subtractLanes(h.words[i], binary.LittleEndian.Uint64(expanded[8*i:]))
	}
}

// Combine adds every element of another set: the sets must have none in common.
func (h *Hash) Combine(other *Hash) {
	for i := range h.words {
		h.words[i] = addLanes(h.words[i], other.words[i])
	}
}

// Without takes out every element of a part of the set.
func (h *Hash) Without(part *Hash) {
	for i := range h.words {
		h.words[i] = subtractLanes(h.words[i], part.words[i])
	}
}

// Sum is the BLAKE3 hash of the state: what people compare.
func (h *Hash) Sum() Sum {
	state := h.state()
	return blake3.Sum256(state[:])
}

func (h *Hash) state() (state [StateSize]byte) {
	for i, word := range h.words {
		binary.LittleEndian.PutUint64(state[8*i:], word)
	}
	return state
}

// MarshalBinary is the state: StateSize bytes, lanes in order, little endian. Unlike a Sum it can be combined.
func (h *Hash) MarshalBinary() ([]byte, error) {
	state := h.state()
	return state[:], nil
}

// UnmarshalBinary is the inverse of MarshalBinary. Any StateSize bytes are a state; any other length is an error.
func (h *Hash) UnmarshalBinary(state []byte) error {
	if len(state) != StateSize {
		return fmt.Errorf("root: a state has %d bytes, not %d", StateSize, len(state))
	}
	for i := range h.words {
		h.words[i] = binary.LittleEndian.Uint64(state[8*i:])
	}
	return nil
}

// lowBits are all bits of four lanes but the highest of each.
const lowBits = 0x7fff_7fff_7fff_7fff

// addLanes adds four lanes at once, each modulo 2^16: the lower bits carry no further than the lane's highest, which is added by itself.
func addLanes(a, b uint64) uint64 {
	return (a&lowBits + b&lowBits) ^ (a^b)&^lowBits
}

// subtractLanes is the inverse of addLanes: the lane's highest bit is lent to the lower ones beforehand.
func subtractLanes(a, b uint64) uint64 {
	return (a | ^uint64(lowBits) - b&lowBits) ^ (a^^b)&^lowBits
}

// blocksSize is what one call of guts.CompressBlocks yields.
const blocksSize = guts.MaxSIMD * guts.BlockSize

// expand fills dst with the first StateSize bytes of BLAKE3's extended output for input. Inputs of one chunk, nearly all, go through
// the library's lower half, which allocates nothing.
func expand(dst *[StateSize]byte, input []byte) {
	if len(input) > guts.ChunkSize {
		long := expandLong(input) // of its own, so that dst need not be on the heap
		copy(dst[:], long)
		return
	}
	node := guts.CompressChunk(input, &guts.IV, 0, 0)
	node.Flags |= guts.FlagRoot
	for at := 0; at < StateSize; at += blocksSize {
		node.Counter = uint64(at / guts.BlockSize)
		guts.CompressBlocks((*[blocksSize]byte)(dst[at:]), node)
	}
}

func expandLong(input []byte) []byte {
	hasher := blake3.New(len(Sum{}), nil)
	_, _ = hasher.Write(input) // never fails
	long := make([]byte, StateSize)
	_, _ = hasher.XOF().Read(long) // nor does this, in its first 2^64 bytes
	return long
}

// Sum is a Hash made short: 32 bytes, shown in base58 as Solana shows its own.
type Sum [32]byte

// String is the sum in base58.
func (s Sum) String() string { return base58.Encode(s[:]) }

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// errSum: the text is no Sum.
var errSum = errors.New("root: not 32 bytes in base58")

// UnmarshalText reads what String writes.
func (s *Sum) UnmarshalText(text []byte) error {
	raw, err := base58.Decode(string(text))
	if err != nil || len(raw) != len(s) {
		return errSum
	}
	*s = Sum(raw)
	return nil
}
