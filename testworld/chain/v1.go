package chain

import (
	"math/rand/v2"
	"slices"

	"github.com/mintlake/mintlake/solana/txwire"
)

// The runtime's bounds of a version-1 transaction (SIMD-0385, SIMD-0296).
const (
	maxV1Keys         = 64
	maxV1Instructions = 64
	maxV1Bytes        = 4096
	minHeap           = 32 << 10
	heapSteps         = 225 // from 32 to 256 KiB in steps of 1 KiB
	heapStep          = 1 << 10
)

// v1Header is the bytes of an instruction besides its accounts and data.
const v1Header = 4

// compileV1 compiles a plan as a transaction of version 1, which asks in its config for what
// instructions of the compute budget program ask for elsewhere. One in four keeps these
// instructions, which then do nothing. Few have more than 1,232 bytes, by a long memo. Fewer leave
// out a limit that the runtime wants, and fail.
func (p *plan) compileV1(r *rand.Rand, blockhash Hash) (Message, error) {
	ixs := make([]Instruction, 0, len(p.ixs)+1)
	kept, calls := r.IntN(4) == 0, 0
	var limit, price uint64
	for _, ix := range p.ixs {
		if ix.Program != ComputeBudgetProgram {
			calls++
		} else if readBudget(ix.Data, &limit, &price); !kept {
			continue
		}
		ixs = append(ixs, ix)
	}
	limit = computeLimit(limit, calls)
	config := askFor(r, uint32(limit), priorityFee(limit, price))
	m, err := compile(p.payer.Key, ixs, txwire.V1, nil, blockhash)
	m.Config = config
	if r.IntN(40) == 0 && err == nil {
		m, err = compile(p.payer.Key, append(ixs, longMemo(r, &m)), txwire.V1, nil, blockhash)
		m.Config = config
	}
	return m, err
}

// askFor is the config of a transaction that wants so many compute units and pays so much.
func askFor(r *rand.Rand, units uint32, fee uint64) txwire.Config {
	var c txwire.Config
	loaded := pick(r, []uint32{256 << 10, 1 << 20, 8 << 20, maxLoaded})
	switch r.IntN(400) {
	case 0: // no program may run
	case 1:
		units = 0
		c.ComputeUnitLimit = &units
	default:
		c.ComputeUnitLimit = &units
	}
	if r.IntN(400) > 0 {
		c.LoadedAccountsDataSizeLimit = &loaded
	}
	if fee > 0 || r.IntN(8) == 0 {
		c.PriorityFee = &fee
	}
	if r.IntN(10) == 0 {
		heap := uint32(minHeap + heapStep*r.IntN(heapSteps))
		c.HeapSize = &heap
	}
	return c
}

// longMemo is a memo with which the transaction of m has more than 1,232 bytes: one in four times
// as many as a transaction can have.
func longMemo(r *rand.Rand, m *Message) Instruction {
	size := len(m.Serialize()) + 64*int(m.Header[0]) + v1Header
	if !slices.Contains(m.Keys, MemoProgram) {
		size += len(MemoProgram)
	}
	old := txwire.V0.MaxBytes()
	want := maxV1Bytes
	if r.IntN(4) > 0 {
		want = old + 1 + r.IntN(maxV1Bytes-old)
	}
	return ixMemo(letters(r, max(want-size, 1)))
}

// fits returns whether version 1 can have the plan's instructions.
func (p *plan) fits() bool {
	return !p.vote && len(p.ixs) < maxV1Instructions && len(collect(p.payer.Key, p.ixs)) < maxV1Keys
}
