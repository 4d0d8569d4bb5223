package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/registry/coverage"
)

// Backfill is the source that reads only what the ledger lacks in a range of the past. A run that
// was interrupted goes on where it stopped. If another source reads at the same time, Backfill
// skips the slots that the other one had ingested when the backfill began.
type Backfill struct{ *Source }

var _ source.Source = Backfill{}

// NewBackfill checks the configuration, which must have From and To. It does no I/O. The kind is
// source.KindBackfill.
func NewBackfill(cfg Config, deps Deps) (Backfill, error) {
	if cfg.From == nil || cfg.To == nil {
		return Backfill{}, errors.New("new backfill: from and to are required")
	}
	cfg.kind = source.KindBackfill
	s, err := New(cfg, deps)
	return Backfill{s}, err
}

// Run reads the missing slots in order and returns nil, also when ctx ends. It waits for slots in
// the future. Errors are those of Source.Run. Progress counts the slots From..To, including those
// that were not missing.
func (b Backfill) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	from, to := *b.cfg.From, *b.cfg.To
	runs := ledger.Missing(from, to)
	return b.fill(ctx, runs, to-from+1-slotsIn(runs), to-from+1, ledger, sink)
}

// fill reads runs of slots. The progress that it reports is done and the number of slots that it
// has read so far, out of total.
func (s *Source) fill(ctx context.Context, runs []coverage.Gap, done, total uint64, ledger source.Ledger, sink source.Sink) error {
	sink.Progress(done, total)
	for _, gap := range runs {
		report := func(read, _ uint64) { sink.Progress(done+read, total) }
		r := &run{ledger: ledger, carrier: order.NewCarrier(sink, nil, s.metrics), report: report, waits: true}
		if err := s.readRange(ctx, gap.FromSlot, gap.ToSlot, r); err != nil {
			return fmt.Errorf("backfill slots %d to %d: %w", gap.FromSlot, gap.ToSlot, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		done += gap.ToSlot - gap.FromSlot + 1
	}
	return nil
}

func slotsIn(runs []coverage.Gap) (slots uint64) {
	for _, run := range runs {
		slots += run.ToSlot - run.FromSlot + 1
	}
	return slots
}

// Gaps is the source that reads only what the ledger lacks between the first and the last slot that
// it knows.
type Gaps struct{ *Source }

var _ source.Source = Gaps{}

// NewGaps checks the configuration, which must have neither From nor To. It does no I/O. The kind
// is source.KindBackfill.
func NewGaps(cfg Config, deps Deps) (Gaps, error) {
	if cfg.From != nil || cfg.To != nil {
		return Gaps{}, errors.New("new backfill of gaps: the ledger says from where to where")
	}
	cfg.kind = source.KindBackfill
	s, err := New(cfg, deps)
	return Gaps{s}, err
}

// Run reads the gaps in order and returns nil, also when ctx ends or there is none. Errors are
// those of Source.Run. Progress counts the slots of the gaps.
func (g Gaps) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	runs := openGaps(ledger)
	return g.fill(ctx, runs, 0, slotsIn(runs), ledger, sink)
}

// openGaps returns the missing slots between the first and the last slot that the ledger knows. It
// leaves out the run before the first slot and the run after the last one, which are no gaps.
func openGaps(ledger source.Ledger) (runs []coverage.Gap) {
	for _, run := range ledger.Missing(0, math.MaxUint64) {
		if run.FromSlot > 0 && run.ToSlot < math.MaxUint64 {
			runs = append(runs, run)
		}
	}
	return runs
}
