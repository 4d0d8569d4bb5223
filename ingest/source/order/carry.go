package order

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/ingest/source"
)

// errLost is for people: nothing is taken back from the log, see
// docs/decisions/0005-only-confirmed-blocks.md.
var errLost = errors.New("its block came as confirmed and lost its fork: the provider's fault; its events stay in the log")

// Carrier carries steps out on a sink. Errors are the sink's.
type Carrier struct {
	Ledger  source.Ledger
	Sink    source.Sink
	Metrics *source.Metrics
	// OnGap is told of missing slots, both ends included; nil = counted only.
	OnGap func(from, to uint64)
}

// Carry does the steps in order. Blocks that the ledger knows are not handed over again.
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
