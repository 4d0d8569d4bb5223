package main

import (
	"context"
	"sync/atomic"

	"github.com/mintlake/mintlake/ingest/chain"
)

// witness is the sink of a recording. The tap has recorded the messages before, so witness only
// notes how far the stream is.
type witness struct{ highest atomic.Uint64 }

func (w *witness) Block(ctx context.Context, block *chain.Block) (known bool, err error) {
	if block.Slot > w.highest.Load() {
		w.highest.Store(block.Slot)
	}
	return false, ctx.Err()
}

func (w *witness) Skipped(ctx context.Context, _ uint64) error   { return ctx.Err() }
func (w *witness) Dead(ctx context.Context, _ uint64) error      { return ctx.Err() }
func (w *witness) Finalized(ctx context.Context, _ uint64) error { return ctx.Err() }
func (w *witness) Refused(context.Context, string, error)        {}
func (w *witness) Progress(uint64, uint64)                       {}
