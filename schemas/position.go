// Package schemas has Mintlake's contracts: events and their topics, positions, and the tables made
// from them.
//
// In: nothing. Out: types and constants that all rooms share. Guarantees: the contracts only grow;
// a stored record of an older version stays readable.
package schemas

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Position is a position on the chain packed into an unsigned 128-bit integer, with Slot as the
// upper half and Order as the lower one. It orders facts: of two facts about the same register, the
// one with the higher position holds.
//
// Order packs, from the high bits: transaction (24), outer instruction (12), inner instruction + 1
// (14; 0 = the outer one itself), batch index + 1 (14; 0 = no batch). The 24 bits of the
// transaction are a 1 and the transaction's index in the block. If the source did not give the
// index, they are a 0 and the first 23 bits of the transaction's signature. The parts are large
// enough: Solana allows 64 instructions per transaction, and a block has far fewer than 2^23
// transactions.
type Position struct {
	Slot  uint64
	Order uint64
}

const (
	transactionBits = 24
	outerBits       = 12
	innerBits       = 14
	batchBits       = 14

	// knownIndex is the bit that is set if the source gave the transaction's index. Transactions
	// without an index are ordered by signature, and before all transactions of the slot that have
	// an index. So of two copies of an instruction, the copy with an index holds. Another
	// transaction of the slot that has an index also wins over a copy without one, because that
	// transaction may have come later.
	knownIndex = 1 << (transactionBits - 1)
	// inTransaction is the mask of the bits of Order that tell the place inside the transaction. In
	// the position after the transaction's last instruction, all these bits are set.
	inTransaction = 1<<(outerBits+innerBits+batchBits) - 1
)

// PositionOf packs p. If p has no transaction index, the signature replaces it, so that two such
// transactions of one slot differ. A part that does not fit its bits becomes their maximum.
func PositionOf(p *eventspb.Position, signature []byte) Position {
	transaction := signatureTag(signature) >> (64 - (transactionBits - 1))
	if p.TransactionIndex != nil {
		transaction = knownIndex | min(uint64(*p.TransactionIndex), knownIndex-1)
	}
	return Position{Slot: p.GetSlot(), Order: packOrder(transaction, p)}
}

// signatureTag returns the first eight bytes of a signature as a number. Missing bytes are zero.
func signatureTag(signature []byte) uint64 {
	var tag [8]byte
	copy(tag[:], signature)
	return binary.BigEndian.Uint64(tag[:])
}

// EndOfSlot returns the position of an account's state that was read at a slot: after every
// instruction of that slot.
func EndOfSlot(slot uint64) Position {
	return Position{Slot: slot, Order: math.MaxUint64}
}

// EndOfTransaction returns the position of an account's state after the transaction with this
// index: after its last instruction and before the next transaction.
func EndOfTransaction(slot uint64, index uint32) Position {
	transaction := knownIndex | min(uint64(index), knownIndex-1)
	return Position{Slot: slot, Order: transaction<<(outerBits+innerBits+batchBits) | inTransaction}
}

// EndOf returns the position after the last instruction of p's transaction. As in PositionOf, the
// signature replaces an index that the source did not give.
func EndOf(p *eventspb.Position, signature []byte) Position {
	position := PositionOf(p, signature)
	position.Order |= inTransaction
	return position
}

// StartOfTransaction returns the position of the first instruction of p's transaction. p may be an
// instruction of the transaction or its end, but must not be the end of a slot.
func (p Position) StartOfTransaction() Position {
	p.Order &^= inTransaction
	return p
}

// Compare returns -1, 0 or +1 if p is before, at or after q.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Slot, q.Slot); c != 0 {
		return c
	}
	return cmp.Compare(p.Order, q.Order)
}

// Reverse returns a position in the opposite order, for facts of which the earliest holds.
func (p Position) Reverse() Position {
	return Position{Slot: ^p.Slot, Order: ^p.Order}
}

// BigInt returns the position for a column of type UInt128.
func (p Position) BigInt() *big.Int {
	n := new(big.Int).SetUint64(p.Slot)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(p.Order))
}

// InstructionID identifies an instruction in all its copies, whether or not their sources know the
// transaction's index. It is the signature's first eight bytes and the place inside the
// transaction.
type InstructionID [16]byte

// InstructionIDOf returns the ID of the instruction at p in the transaction with this signature.
func InstructionIDOf(p *eventspb.Position, signature []byte) InstructionID {
	var id InstructionID
	binary.BigEndian.PutUint64(id[:8], signatureTag(signature))
	binary.BigEndian.PutUint64(id[8:], PackPlace(p))
	return id
}
