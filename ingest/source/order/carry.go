package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/solana/slottime"
)

// errLost tells people what happened. Nothing is taken back from the log, see
// docs/decisions/0005-only-confirmed-blocks.md.
var errLost = errors.New("its block came as confirmed and lost its fork: the provider's fault; its events stay in the log")

// Carrier hands what a source has read over to a sink, one call at a time. It is a sink itself, so
// that a stream and the filler of the stream's gaps can share one Carrier. A caller that waits for
// its turn stops waiting when its context ends. Make it with NewCarrier. Safe for concurrent use.
// Its errors are the sink's.
type Carrier struct {
	// OnGap is called with missing slots, both ends included. If it is nil, gaps are only counted.
	// It must be set before the first call.
	OnGap func(from, to uint64)
	// Time measures the slot time by the blocks that Carry delivers.
	Time slottime.Meter

	sink     source.Sink
	accounts *accounts.Buffer
	metrics  *source.Metrics
	turn     *semaphore.Weighted // a mutex that a caller can wait for with a context
	witness  Witness
}

var _ source.Sink = (*Carrier)(nil)

// NewCarrier returns a carrier to sink. Blocks get the accounts that buffer has of them; buffer may
// be nil. metrics count what the source delivers.
func NewCarrier(sink source.Sink, buffer *accounts.Buffer, metrics *source.Metrics) *Carrier {
	return &Carrier{sink: sink, accounts: buffer, metrics: metrics, turn: semaphore.NewWeighted(1)}
}

// Carry carries out the steps in order. It passes a lost block on both as dead and as a refusal,
// because a refusal leaves a dead letter.
func (c *Carrier) Carry(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		var err error
		switch s.Kind {
		case Deliver:
			if s.Block.BlockTime > 0 {
				c.Time.See(s.Block.Slot, time.Unix(s.Block.BlockTime, 0))
			}
			known := s.Block.Known
			if !known {
				known, err = c.Block(ctx, s.Block)
			}
			switch {
			case err != nil:
			case known:
				c.metrics.Known()
			default:
				c.metrics.Delivered(s.Block.Slot)
			}
		case Skip:
			c.metrics.Skipped()
			err = c.Skipped(ctx, s.From)
		case Lost:
			c.metrics.Lost()
			if err = c.Dead(ctx, s.From); err == nil {
				c.Refused(ctx, fmt.Sprintf("slot %d", s.From), errLost)
			}
		case Gap:
			c.metrics.Gap()
			if c.OnGap != nil {
				c.OnGap(s.From, s.To)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call waits for its turn and then calls do.
func (c *Carrier) call(ctx context.Context, do func() error) error {
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.turn.Release(1)
	return do()
}

// Block passes the block on with its accounts, and notes that its slot has a block on the chain.
func (c *Carrier) Block(ctx context.Context, b *chain.Block) (known bool, err error) {
	err = c.call(ctx, func() error {
		c.witness.Chain(b.Slot)
		if c.accounts != nil {
			c.accounts.Join(b)
		}
		known, err = c.sink.Block(ctx, b)
		return err
	})
	return known, err
}

// Skipped passes the slot on as skipped. If the stream has reported a block in the slot, Skipped
// passes the slot on as dead, because the chain goes on without that block.
func (c *Carrier) Skipped(ctx context.Context, slot uint64) error {
	if c.witness.Empty(slot) {
		c.metrics.Dead()
		return c.Dead(ctx, slot)
	}
	return c.call(ctx, func() error { return c.sink.Skipped(ctx, slot) })
}

// Dead passes the slot on as dead.
func (c *Carrier) Dead(ctx context.Context, slot uint64) error {
	return c.call(ctx, func() error { return c.sink.Dead(ctx, slot) })
}

// Finalized passes the slot on as finalized.
func (c *Carrier) Finalized(ctx context.Context, slot uint64) error {
	return c.call(ctx, func() error { return c.sink.Finalized(ctx, slot) })
}

// Seen notes that the stream reported a block in a slot, on the chain or not. If the chain is known
// to go on without a block in the slot, Seen passes the slot on as dead.
func (c *Carrier) Seen(ctx context.Context, slot uint64) error {
	if !c.witness.Seen(slot) {
		return nil
	}
	c.metrics.Dead()
	return c.Dead(ctx, slot)
}

// Refused passes the refusal on.
func (c *Carrier) Refused(ctx context.Context, name string, err error) {
	_ = c.call(ctx, func() error { c.sink.Refused(ctx, name, err); return nil })
}

// Progress does nothing: a filler's progress is not the source's.
func (c *Carrier) Progress(uint64, uint64) {}
