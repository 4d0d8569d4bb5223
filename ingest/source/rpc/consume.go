package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/solana"
)

// maxWalk bounds how many missing parents of a block are fetched, one after another.
const maxWalk = 256

// run is the consuming half of Source.Run: one goroutine that passes blocks on in order.
type run struct {
	*Source
	ledger  source.Ledger
	sink    source.Sink
	line    *order.Line
	carrier order.Carrier
	// repairer is nil if the source does not follow the tip.
	repairer *repair.Repairer
	refused  map[uint64]bool
	from     uint64
}

// consume passes on the blocks of the queue in order.
func (r *run) consume(ctx context.Context, queue <-chan *job) error {
	r.refused = map[uint64]bool{}
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
	r.sink.Progress(slot-r.from+1, total)
}

// take handles one fetched slot. A block that cannot be had is refused, and the run goes on, unless
// the error is hopeless.
func (r *run) take(ctx context.Context, j *job) error {
	switch {
	case j.err == nil:
		return r.add(ctx, j.block)
	case ctx.Err() != nil:
		return ctx.Err()
	case hopeless(j.err):
		return fmt.Errorf("slot %d: %w", j.slot, j.err)
	case solana.SkippedSlot(j.err):
		return nil // believed only if the next block's parent link agrees
	}
	r.refuse(ctx, j.slot, j.err)
	return nil
}

// refuse reports a slot as refused, once.
func (r *run) refuse(ctx context.Context, slot uint64, err error) {
	if r.refused[slot] {
		return
	}
	r.refused[slot] = true
	reason := "malformed"
	var rpc *solana.RPCError
	if errors.As(err, &rpc) {
		reason = "rpc_error"
	}
	r.metrics.Refused(reason)
	r.sink.Refused(ctx, fmt.Sprintf("slot %d", slot), err)
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
		if walk < maxWalk && parent >= r.from && !r.refused[parent] {
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
