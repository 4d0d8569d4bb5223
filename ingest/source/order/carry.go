package order

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/ingest/source"
)

// errLost tells people what happened. Nothing is taken back from the log, see
// docs/decisions/0005-only-confirmed-blocks.md.
var errLost = errors.New("its block came as confirmed and lost its fork: the provider's fault; its events stay in the log")

// Carrier carries out steps on a sink. Its errors are the sink's.
type Carrier struct {
	Ledger  source.Ledger
	Sink    source.Sink
	Metrics *source.Metrics
	// OnGap is called with missing slots, both ends included. If it is nil, gaps are only counted.
	OnGap func(from, to uint64)
}

// Carry carries out the steps in order. It does not pass on whole blocks that the ledger has. A
// lost block is passed on as dead and as a refusal, so that there is a dead letter of it.
func (c *Carrier) Carry(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		var err error
		switch s.Kind {
		case Deliver:
			if s.Block.Whole && c.Ledger.Ingested(s.Block.Slot, s.Block.Blockhash) {
				c.Metrics.Known()
				continue
			}
			if err = c.Sink.Block(ctx, s.Block); err == nil {
				c.Metrics.Delivered(s.Block.Slot)
			}
		case Skip:
			c.Metrics.Skipped()
			err = c.Sink.Skipped(ctx, s.From)
		case Lost:
			c.Metrics.Lost()
			if err = c.Sink.Dead(ctx, s.From); err == nil {
				c.Sink.Refused(ctx, fmt.Sprintf("slot %d", s.From), errLost)
			}
		case Gap:
			c.Metrics.Gap()
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
