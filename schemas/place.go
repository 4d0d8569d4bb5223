package schemas

import (
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Place is the place of an instruction in its transaction.
type Place struct {
	// Instruction is the outer instruction, from 0.
	Instruction uint32
	// Inner is the index in the outer instruction's flat list of inner instructions, from 0; -1 for
	// the outer one itself.
	Inner int32
	// Batch is the index in a p-token Batch, from 0; -1 outside a Batch.
	Batch int32
}

// PackPlace packs the place of p into one number, which is token_fact_history_raw.place and the
// lower half of an InstructionID. It is the Position.Order that p has if its transaction index is
// 0. PackPlace ignores the real index, because copies of an instruction must get the same number
// whether or not their sources know that index. A part that does not fit its bits becomes their
// maximum.
func PackPlace(p *eventspb.Position) uint64 {
	return packOrder(knownIndex, p)
}

// UnpackPlace is the inverse of PackPlace. It also takes any Position.Order, and ignores the
// transaction in it.
func UnpackPlace(packed uint64) Place {
	_, outer, inner, batch := SplitOrder(packed)
	return Place{Instruction: uint32(outer), Inner: int32(inner) - 1, Batch: int32(batch) - 1}
}

// SplitOrder splits Position.Order into the transaction's 24 bits, the outer instruction, the inner
// instruction + 1, and the batch index + 1.
func SplitOrder(order uint64) (transaction, outer, inner, batch uint64) {
	return order >> (outerBits + innerBits + batchBits), order >> (innerBits + batchBits) & (1<<outerBits - 1),
		order >> batchBits & (1<<innerBits - 1), order & (1<<batchBits - 1)
}

// JoinOrder is the inverse of SplitOrder. Each part must fit its bits.
func JoinOrder(transaction, outer, inner, batch uint64) uint64 {
	return transaction<<(outerBits+innerBits+batchBits) | outer<<(innerBits+batchBits) | inner<<batchBits | batch
}

// packOrder returns the Position.Order of p. transaction is the upper 24 bits, which packOrder does
// not take from p. A part of p that does not fit its bits becomes their maximum.
func packOrder(transaction uint64, p *eventspb.Position) uint64 {
	return JoinOrder(transaction, min(uint64(p.GetInstructionIndex()), 1<<outerBits-1),
		optionalIndex(p.InnerInstructionIndex, innerBits), optionalIndex(p.BatchIndex, batchBits))
}

// optionalIndex returns index + 1, or 0 if index is nil. A sum that does not fit bits becomes their
// maximum.
func optionalIndex(index *uint32, bits uint) uint64 {
	if index == nil {
		return 0
	}
	return min(uint64(*index)+1, 1<<bits-1)
}
