package schemas

import (
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Place is where an instruction stands inside its transaction.
type Place struct {
	// Instruction is the outer instruction, from 0.
	Instruction uint32
	// Inner is the place in the outer instruction's flat inner list, from 0; -1 for the outer one
	// itself.
	Inner int32
	// Batch is the place in a p-token Batch, from 0; -1 outside of one.
	Batch int32
}

// PackPlace is the place of p as one number, which is token_fact_history_raw.place and the lower
// half of an InstructionID. It is the Order of that instruction in transaction 0, whichever
// transaction it is in: so a copy that knows the index of its transaction and one that does not
// have the same number. UnpackPlace is the inverse. Values beyond their bits are clamped to the
// largest.
func PackPlace(p *eventspb.Position) uint64 {
	return joined(knownIndex, p)
}

// UnpackPlace is the inverse of PackPlace. Of any Order it is the place inside the transaction.
func UnpackPlace(packed uint64) Place {
	_, outer, inner, batch := SplitOrder(packed)
	return Place{Instruction: uint32(outer), Inner: int32(inner) - 1, Batch: int32(batch) - 1}
}

// SplitOrder takes Position.Order apart: the transaction's 24 bits, the outer instruction, the
// inner instruction + 1 and the batch index + 1.
func SplitOrder(order uint64) (transaction, outer, inner, batch uint64) {
	return order >> (outerBits + innerBits + batchBits), order >> (innerBits + batchBits) & (1<<outerBits - 1),
		order >> batchBits & (1<<innerBits - 1), order & (1<<batchBits - 1)
}

// JoinOrder is the inverse of SplitOrder. No part may have more bits than its place.
func JoinOrder(transaction, outer, inner, batch uint64) uint64 {
	return transaction<<(outerBits+innerBits+batchBits) | outer<<(innerBits+batchBits) | inner<<batchBits | batch
}

// joined is the Order of p in a transaction; the parts of p are clamped to their bits.
func joined(transaction uint64, p *eventspb.Position) uint64 {
	return JoinOrder(transaction, min(uint64(p.GetInstructionIndex()), 1<<outerBits-1),
		optionalIndex(p.InnerInstructionIndex, innerBits), optionalIndex(p.BatchIndex, batchBits))
}

// optionalIndex is index + 1, and 0 for none.
func optionalIndex(index *uint32, bits uint) uint64 {
	if index == nil {
		return 0
	}
	return min(uint64(*index)+1, 1<<bits-1)
}
