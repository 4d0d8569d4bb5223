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
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
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

	// waits means that the run waits for the end of its range, and reports slots that are not
	// proved. A filler of gaps does neither, because the ledger shows the gap for another attempt.
	waits bool
	// from is the first slot to read.
	from uint64
	// complete means that produce has started all fetches of the range. It is set before the queue
	// is closed.
	complete bool

	// Only consume uses the fields below.
	line    *order.Line
	carrier *order.Carrier
	// report gets how many slots were read, out of total; total is 0 if the tip is followed.
	report func(read, total uint64)
	// repairer is nil if the source does not follow the tip.
	repairer *repair.Repairer
	// given are the slots that this run has given up, see refuse.
	given map[uint64]bool
	// begun means that a block of the range was read.
	begun bool
	// gaps are runs of slots that are missing between delivered blocks, until they are reported.
	gaps []repair.Gap
}

// consume passes on the blocks of the queue in order.
func (r *run) consume(ctx context.Context, queue <-chan *job) error {
	r.given = map[uint64]bool{}
	for j := range queue {
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.take(ctx, j); err != nil {
			return err
		}
		r.progress(j.through)
		if r.repairer != nil && r.line.Tip() >= r.from {
			r.repairer.At(r.line.Tip())
		}
	}
	if r.cfg.To != nil && r.complete && ctx.Err() == nil {
		if err := r.prove(ctx); err != nil {
			return err
		}
		r.progress(*r.cfg.To)
	}
	return ctx.Err()
}

// progress reports that everything up to slot was read.
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
	case solana.SkippedSlot(j.err), errors.Is(j.err, errAbsent):
		return nil // it has no block only if the parent link of the next block says so too
	}
	r.refuse(ctx, j.slot, j.err)
	return nil
}

// refuse gives a slot up. It reports the slot as refused, unless an earlier run of the source has
// reported it.
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
	if name := fmt.Sprintf("slot %d", slot); r.refused.add(name) {
		r.carrier.Refused(ctx, name, err)
	}
}

// refusals are the slots, and runs of slots, that a source has reported as refused. They are
// reported once, although the filler of gaps tries them again and again. Safe for concurrent use;
// the zero value is empty.
type refusals struct {
	mu    sync.Mutex
	names map[string]bool
}

// maxRefusals bounds the names that are remembered. At the bound all of them are forgotten.
const maxRefusals = 10_000

// add notes a name. It returns false if the name was noted before.
func (r *refusals) add(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.names[name]
	if r.names == nil || len(r.names) >= maxRefusals {
		r.names = map[string]bool{}
	}
	r.names[name] = true
	return !again
}

// add passes b on. If b's parent was not passed on, add first fetches it, then the parent's parent,
// and so on: up to maxWalk blocks, and none below r.from. A parent that cannot be had becomes a
// gap.
func (r *run) add(ctx context.Context, b *chain.Block) error {
	// The line of a later range starts after the slot before the range, and so finds a gap at the
	// range's begin. A range from slot 0 has no slot before it.
	if !r.begun && r.from == 0 && b.Slot > 0 && r.cfg.To != nil {
		r.gaps = append(r.gaps, repair.Gap{From: 0, To: *b.ParentSlot})
	}
	r.begun = true
	steps, repeated := r.line.Add(b, time.Time{})
	if repeated {
		r.metrics.Repeated()
		return nil
	}
	defer r.reportGaps(ctx)
	if err := r.carrier.Carry(ctx, steps); err != nil {
		return err
	}
	for walk := 0; r.line.Waiting() > 0; walk++ {
		parent := *b.ParentSlot
		if walk < maxWalk && parent >= r.from && !r.given[parent] && !r.partial.enough(parent) {
			found, err := r.block(ctx, parent, asking{})
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
