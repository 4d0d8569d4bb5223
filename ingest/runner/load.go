package runner

import (
	"context"
	"fmt"

	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Follow reads what another run writes until ctx ends, so that Run has little left to read when
// this process takes over. It writes nothing. It calls ready once, when it has read what the log
// had when Follow began. ready may be nil. Run may be called only after Follow has returned.
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
		// A mint of a block without a slot record does not count as seen: that block is ingested
		// again, and must give the same sightings and requests. The mint waits, because the run
		// that is followed may still write the slot record.
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

// recall applies a slot record of another run to the ledger. It ignores a record of a slot that no
// chain can have reached, because sources would resume after that slot and skip all slots before.
func (r *Runner) recall(record *eventspb.SlotRecord) {
	if r.deps.Bounds != nil && !r.deps.Bounds.Remember(record.GetSlot(), record.GetBlockTime()) {
		r.log.Warn("a slot record is ignored: no chain can have reached the slot", "slot", record.GetSlot(), "source", record.GetSource())
		return
	}
	r.ledger.Apply(record)
	if record.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_INGESTED && record.GetSource() != source.KindBackfill && record.GetSlot() >= r.liveSlot {
		r.liveSlot, r.liveExtent = record.GetSlot(), record.GetBalances()
	}
}

// admit marks the waiting mints of blocks whose slot record has come as seen. It forgets the
// waiting mints of slots so far below the highest one that their slot record will not come.
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
