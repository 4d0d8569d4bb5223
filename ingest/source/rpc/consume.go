package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/solana/txwire"
)

// maxWalk bounds how many missing parents of a block are fetched, one after another.
const maxWalk = 256

// run is one reading of the chain: produce fetches blocks, several at once, and consume passes them
// on in order.
type run struct {
	*Source
	ledger source.Ledger
	// resume is the slot up to which the ledger may have the blocks, so that their headers are
	// fetched first; 0 if there is none.
	resume uint64

	// Only consume uses the fields below.
	line    *order.Line
	carrier *order.Carrier
	// report gets how many slots are read, of how many; 0 if the tip is followed.
	report func(read, total uint64)
	// repairer is nil if the source does not follow the tip.
	repairer *repair.Repairer
	// given are the slots that this run has given up.
	given map[uint64]bool
	from  uint64
}

// consume passes on the blocks of the queue in order.
func (r *run) consume(ctx context.Context, queue <-chan *job) error {
	r.given = map[uint64]bool{}
	first := r.cfg.From == nil
	if !first {
		r.from = *r.cfg.From
	}
	for j := range queue {
		if first {
			first, r.from = false, j.slot
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.take(ctx, j); err != nil {
			return err
		}
		r.progress(j.through)
		if r.repairer != nil && r.line.Tip() > 0 {
			r.repairer.At(r.line.Tip())
		}
	}
	if r.cfg.To != nil && ctx.Err() == nil {
		r.progress(*r.cfg.To)
	}
	return ctx.Err()
}

func (r *run) progress(slot uint64) {
	total := uint64(0)
	if r.cfg.To != nil {
		total = *r.cfg.To - r.from + 1
	}
	r.report(slot-r.from+1, total)
}

// take handles one fetched slot. A block that cannot be had is refused, and the run goes on, unless
// the error is hopeless and no block has ever come.
func (r *run) take(ctx context.Context, j *job) error {
	switch {
	case j.err == nil:
		return r.add(ctx, j.block)
	case ctx.Err() != nil:
		return ctx.Err()
	case hopeless(j.err) && !r.worked.Load():
		return fmt.Errorf("slot %d: %w", j.slot, j.err)
	case solana.SkippedSlot(j.err):
		return nil // believed only if the next block's parent link agrees
	}
	r.refuse(ctx, j.slot, j.err)
	return nil
}

// refuse gives a slot up, and reports it as refused unless an earlier run of the source has.
func (r *run) refuse(ctx context.Context, slot uint64, err error) {
	if r.given[slot] {
		return
	}
	r.given[slot] = true
	reason := "malformed"
	var rpc *solana.RPCError
	var version *txwire.VersionError
	switch {
	case errors.As(err, &version):
		reason = "version"
	case errors.As(err, &rpc):
		reason = "rpc_error"
	}
	r.metrics.Refused(reason)
	if r.refused.add(slot) {
		r.carrier.Refused(ctx, fmt.Sprintf("slot %d", slot), err)
	}
}

// refusals are the slots that a source has reported as refused. The filler of gaps tries the same
// slots again and again. Safe for concurrent use; the zero value is empty.
type refusals struct {
	mu    sync.Mutex
	slots map[uint64]bool
}

// maxRefusals bounds the slots that are remembered. At the bound all of them are forgotten.
const maxRefusals = 10_000

// add notes a slot. It returns false if the slot was noted before.
func (r *refusals) add(slot uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.slots[slot]
	if r.slots == nil || len(r.slots) >= maxRefusals {
		r.slots = map[uint64]bool{}
	}
	r.slots[slot] = true
	return !again
}

// add passes b on. If b's parent was not passed on, add first fetches it, then the parent's parent,
// and so on: up to maxWalk blocks, and none below r.from. A parent that cannot be had becomes a
// gap.
func (r *run) add(ctx context.Context, b *chain.Block) error {
	steps, repeated := r.line.Add(b, time.Time{})
	if repeated {
		r.metrics.Repeated()
		return nil
	}
	if err := r.carrier.Carry(ctx, steps); err != nil {
		return err
	}
	for walk := 0; r.line.Waiting() > 0; walk++ {
		parent := *b.ParentSlot
		if walk < maxWalk && parent >= r.from && !r.given[parent] && !r.partial.enough(parent) {
			found, err := r.block(ctx, parent, false)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				r.refuse(ctx, parent, fmt.Errorf("block %d names it as its parent: %w", b.Slot, err))
			default:
				steps, repeated := r.line.Add(found, time.Time{})
				if err := r.carrier.Carry(ctx, steps); err != nil {
					return err
				}
				if !repeated {
					b = found
					continue
				}
			}
		}
		if err := r.carrier.Carry(ctx, r.line.Release()); err != nil {
			return err
		}
	}
	return nil
}
