package runner

import (
	"context"
	"fmt"

	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Follow reads what another run writes until ctx ends, so that Run has little left to read when it
// takes over. It writes nothing. It calls ready, which may be nil, once, when it has read what was
// in the log at first. Run may be called only after Follow has returned.
func (r *Runner) Follow(ctx context.Context, ready func()) error {
	for {
		if err := r.load(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if ready != nil {
			ready()
			ready = nil
		}
		if pause.For(ctx, r.cfg.followInterval) != nil {
			return nil
		}
	}
}

// load reads what other runs have added to the log since the last call.
func (r *Runner) load(ctx context.Context) error {
	if r.deps.Ledger != nil {
		if err := r.deps.Ledger.ReadSlots(ctx, r.recall); err != nil {
			return fmt.Errorf("ingest: read slot ledger: %w", err)
		}
	}
	r.admit()
	if r.deps.Mints == nil {
		return nil
	}
	err := r.deps.Mints.ReadMints(ctx, func(mint pubkey.Key, slot uint64, timed bool) {
		// A mint of a block without a slot record does not count: that block is ingested again,
		// with its sightings and requests. While another run is followed, the record may still
		// come.
		if r.ingested(slot) {
			r.seen.add(mint, seenAt(slot, timed))
			return
		}
		r.introduced[slot] = append(r.introduced[slot], introduced{mint, timed})
	})
	if err != nil {
		return fmt.Errorf("ingest: read known mints: %w", err)
	}
	return nil
}

// recall takes a slot record of another run. One of a slot that no chain can have reached is
// ignored: sources would go on behind it.
func (r *Runner) recall(record *eventspb.SlotRecord) {
	if r.deps.Bounds != nil && !r.deps.Bounds.Remember(record.GetSlot(), record.GetBlockTime()) {
		r.log.Warn("a slot record is ignored: no chain can have reached the slot", "slot", record.GetSlot(), "source", record.GetSource())
		return
	}
	r.ledger.Apply(record)
}

// admit marks the waiting mints as seen whose slot record has come. It forgets those whose record
// will not come any more.
func (r *Runner) admit() {
	highest := r.ledger.Coverage().ToSlot
	for slot, mints := range r.introduced {
		switch {
		case r.ingested(slot):
			for _, mint := range mints {
				r.seen.add(mint.key, seenAt(slot, mint.timed))
			}
			delete(r.introduced, slot)
		case slot+ledger.DefaultReach < highest:
			delete(r.introduced, slot)
		}
	}
}

func (r *Runner) ingested(slot uint64) bool {
	return r.ledger.Status(slot) == eventspb.SlotStatus_SLOT_STATUS_INGESTED
}
