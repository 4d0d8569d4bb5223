package repair

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
)

// Serial lets the stream and the filler share a sink, one call at a time. A caller that waits for
// its turn stops waiting when its context ends.
type Serial struct {
	turn    *semaphore.Weighted // of one
	sink    source.Sink
	metrics *source.Metrics
	witness order.Witness
}

// NewSerial returns a Serial over sink. metrics count the slots that turn out to be dead.
func NewSerial(sink source.Sink, metrics *source.Metrics) *Serial {
	return &Serial{turn: semaphore.NewWeighted(1), sink: sink, metrics: metrics}
}

func (s *Serial) call(ctx context.Context, do func() error) error {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	return do()
}

// Block passes the block on, and notes that its slot has a block on the chain.
func (s *Serial) Block(ctx context.Context, b *chain.Block) error {
	return s.call(ctx, func() error {
		s.witness.Chain(b.Slot)
		return s.sink.Block(ctx, b)
	})
}

// Skipped passes the slot on. If the stream has reported a block in it, it is passed on as dead:
// the chain goes on without that block.
func (s *Serial) Skipped(ctx context.Context, slot uint64) error {
	if s.witness.Empty(slot) {
		s.metrics.Dead()
		return s.Dead(ctx, slot)
	}
	return s.call(ctx, func() error { return s.sink.Skipped(ctx, slot) })
}

// Dead passes the slot on.
func (s *Serial) Dead(ctx context.Context, slot uint64) error {
	return s.call(ctx, func() error { return s.sink.Dead(ctx, slot) })
}

// Finalized passes the slot on.
func (s *Serial) Finalized(ctx context.Context, slot uint64) error {
	return s.call(ctx, func() error { return s.sink.Finalized(ctx, slot) })
}

// Seen notes that the stream reported a block in a slot, on the chain or not. If the chain goes on
// without it, the slot is passed on as dead.
func (s *Serial) Seen(ctx context.Context, slot uint64) error {
	if !s.witness.Seen(slot) {
		return nil
	}
	s.metrics.Dead()
	return s.Dead(ctx, slot)
}

// Refused passes the refusal on.
func (s *Serial) Refused(ctx context.Context, name string, err error) {
	_ = s.call(ctx, func() error { s.sink.Refused(ctx, name, err); return nil })
}

// Progress does nothing: a stream has no end, and a filler's progress is not the source's.
func (s *Serial) Progress(uint64, uint64) {}
