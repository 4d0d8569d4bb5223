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

// Only the link of a block to its parent proves that the slots between them have no block. So a
// range whose last slot has none is proved by the first block behind it.

const (
	// maxBehind is how many slots behind a range are searched for a block.
	maxBehind = 256
	// maxUnlistedBehind is how many of them are asked for if getBlocks lists none that can be had,
	// and maxTried how many are asked for at all.
	maxUnlistedBehind = 16
	maxTried          = 64
)

// errUnproved is why slots are reported that were neither had nor proved to have no block.
var errUnproved = errors.New("not proved: the blocks of these slots could not be had, and no later block's chain of parents shows that there are none; " +
	"read the range again, from another server if this stays")

// prove reads what is left of the range behind the last delivered block: the blocks that the first
// block behind the range has as its ancestors. If there is no such block, the slots are reported.
func (r *run) prove(ctx context.Context) error {
	to := *r.cfg.To
	if r.begun && r.line.Tip() >= to || r.partial.enough(to) {
		return nil
	}
	header, err := r.behind(ctx, to)
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
	header.Known = true // it takes part in the order, and no sink gets it
	return r.add(ctx, header)
}

// behind returns the header of a block above slot whose parent is not above slot; nil if the server
// shows none. If r waits, behind waits for the chain to go on, for at most cfg.patience.
func (r *run) behind(ctx context.Context, slot uint64) (*chain.Block, error) {
	for began, wait := time.Now(), r.cfg.firstPause; ; wait = min(2*wait, 15*time.Second) {
		tip, err := r.tip(ctx)
		if err != nil {
			return nil, err
		}
		if last := min(tip, slot+maxBehind); last > slot {
			if header, err := r.headerAbove(ctx, slot, last); header != nil || err != nil {
				return header, err
			}
		}
		if !r.waits || tip >= slot+maxBehind || time.Since(began) > r.cfg.patience {
			return nil, nil
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// headerAbove is behind for blocks up to slot last, without waiting.
func (r *run) headerAbove(ctx context.Context, slot, last uint64) (*chain.Block, error) {
	slots, listed, err := r.slots(ctx, slot+1, last)
	if err != nil {
		return nil, err
	}
	slots = slots[:min(len(slots), maxTried)]
	if listed {
		slots = append(slots, between(slot+1, min(last, slot+maxUnlistedBehind))...)
	}
	for _, at := range slots {
		header, err := r.block(ctx, at, asking{headerOnly: true, now: true})
		for err == nil && *header.ParentSlot > slot { // a block that is not listed
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

// reportGaps reports the missing slots of the range that were noted, unless the source has reported
// them before.
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
