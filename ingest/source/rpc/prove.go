package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/pause"
)

// Only the link of a block to its parent proves that the slots between them have no block. So if
// the last slots of a range have no block, only the first block after the range proves it.

const (
	// maxAfter is how many slots after a range are searched for a block.
	maxAfter = 256
	// maxTried bounds how many of the slots that getBlocks lists are asked for, or of all slots if
	// the server offers no list. If the server has none of the listed blocks, maxUnlistedAfter of
	// the slots are asked for whether or not they are listed.
	maxUnlistedAfter = 16
	maxTried         = 64
)

// errUnproved is reported for slots whose block was not read and that are not proved to have none.
var errUnproved = errors.New("not proved: the blocks of these slots could not be had, and no later block's chain of parents shows that there are none; " +
	"read the range again, from another server if this stays")

// prove reads what is left of the range after the last delivered block: the ancestors of the first
// block after the range. If the server has no block after the range, prove reports the slots that
// are left.
func (r *run) prove(ctx context.Context) error {
	to := *r.cfg.To
	if r.begun && r.line.Tip() >= to || r.partial.enough(to) {
		return nil
	}
	header, err := r.blockAfter(ctx, to)
	switch {
	case err != nil:
		return err
	case header == nil:
		gap := repair.Gap{From: r.from, To: to}
		if r.begun {
			gap.From = r.line.Tip() + 1
		}
		r.gaps = append(r.gaps, gap)
		r.reportGaps(ctx)
		return nil
	}
	header.Known = true // the block only leads to its ancestors, and no sink gets it
	return r.add(ctx, header)
}

// blockAfter returns the header of the first block above slot: its parent is not above slot. It
// returns nil if the server shows no such block. If r waits, blockAfter waits for the chain to go
// on, for at most cfg.patience.
func (r *run) blockAfter(ctx context.Context, slot uint64) (*chain.Block, error) {
	for began, wait := time.Now(), r.cfg.firstPause; ; wait = min(2*wait, 15*time.Second) {
		tip, err := r.tip(ctx)
		if err != nil {
			return nil, err
		}
		if last := min(tip, slot+maxAfter); last > slot {
			if header, err := r.headerAbove(ctx, slot, last); header != nil || err != nil {
				return header, err
			}
		}
		if !r.waits || tip >= slot+maxAfter || time.Since(began) > r.cfg.patience {
			return nil, nil
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// headerAbove returns the header of the first block in slot+1..last; nil if the server shows none
// now.
func (r *run) headerAbove(ctx context.Context, slot, last uint64) (*chain.Block, error) {
	slots, listed, err := r.slots(ctx, slot+1, last)
	if err != nil {
		return nil, err
	}
	slots = slots[:min(len(slots), maxTried)]
	if listed {
		slots = append(slots, between(slot+1, min(last, slot+maxUnlistedAfter))...)
	}
	for _, at := range slots {
		header, err := r.block(ctx, at, asking{headerOnly: true, now: true})
		for err == nil && *header.ParentSlot > slot { // the parent is after slot, too
			header, err = r.block(ctx, *header.ParentSlot, asking{headerOnly: true, now: true})
		}
		switch {
		case err == nil:
			return header, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case hopeless(err) && !r.worked.Load():
			return nil, fmt.Errorf("slot %d: %w", at, err)
		}
	}
	return nil, nil
}

// reportGaps reports the gaps of the run as refused, each once. It reports none if r does not wait,
// and not a slot that was refused already or is not to be asked for again.
func (r *run) reportGaps(ctx context.Context) {
	for _, gap := range r.gaps {
		from, to := max(gap.From, r.from), min(gap.To, *r.cfg.To)
		name := fmt.Sprintf("slots %d to %d", from, to)
		switch {
		case from > to, !r.waits, from == to && r.given[to], r.partial.enough(to):
			continue
		case from == to:
			name = fmt.Sprintf("slot %d", to)
		}
		r.metrics.Refused("unproved")
		if r.refused.add(name) {
			r.carrier.Refused(ctx, name, errUnproved)
		}
	}
	r.gaps = r.gaps[:0]
}
