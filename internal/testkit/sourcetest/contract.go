package sourcetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	world "github.com/mintlake/mintlake/testworld/chain"
)

// Setup is what a source under test shall read.
type Setup struct {
	Chain Chain
	// Broken asks for at least one unreadable input among the good ones.
	Broken bool
}

// Opener opens a source over a made-up chain.
type Opener func(t *testing.T, setup Setup) source.Source

// Contract tests everything that a source must keep. endless means that Run returns only when its
// context ends.
func Contract(t *testing.T, endless bool, open Opener) {
	run := func(t *testing.T, s source.Source, l source.Ledger, sink *Sink, enough func() bool) error {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, l, sink) }()
		if endless {
			sink.Wait(t, "the blocks", enough)
			cancel()
		}
		return wait(t, done)
	}
	c := NewChain(1000, 40)

	t.Run("whole blocks once, in slot order, with their content", func(t *testing.T) {
		sink := &Sink{}
		require.NoError(t, run(t, open(t, Setup{Chain: c}), Ledger{}, sink, func() bool { return len(sink.Blocks()) >= len(c) }))
		RequireChain(t, c, sink.Blocks())
		require.Equal(t, c.Skipped(), inside(c, sink.SkippedSlots()))
		require.Empty(t, sink.RefusedInputs())
		require.Empty(t, sink.DeadSlots())
		require.False(t, sink.concurrent, "blocks are handed over one at a time")
	})
	t.Run("goes on after what the ledger holds", func(t *testing.T) {
		known := LedgerOf(c, 25)
		sink := &Sink{Ledger: known}
		require.NoError(t, run(t, open(t, Setup{Chain: c}), known, sink, func() bool { return len(sink.Blocks()) >= len(c)-25 }))
		RequireChain(t, c[25:], sink.Blocks())
	})
	t.Run("refuses broken input and reads the rest", func(t *testing.T) {
		sink := &Sink{}
		require.NoError(t, run(t, open(t, Setup{Chain: c, Broken: true}), Ledger{}, sink, func() bool {
			return len(sink.Blocks()) >= len(c) && len(sink.RefusedInputs()) > 0
		}))
		RequireChain(t, c, sink.Blocks())
		require.NotEmpty(t, sink.RefusedInputs())
	})
	t.Run("waits for a sink that is full, and stops promptly", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		full := make(chan struct{}, 1)
		sink := &Sink{OnBlock: func(ctx context.Context, _ *chain.Block) error {
			full <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}}
		done := make(chan error, 1)
		s := open(t, Setup{Chain: c})
		go func() { done <- s.Run(ctx, Ledger{}, sink) }()
		<-full
		time.Sleep(50 * time.Millisecond) // in which a wrong second block would come
		require.Empty(t, full, "no second block while the first is not taken")
		cancel()
		began := time.Now()
		require.NoError(t, wait(t, done))
		require.Less(t, time.Since(began), time.Minute)
	})
	t.Run("ends with the sink's error", func(t *testing.T) {
		broken := errors.New("pipeline broken")
		sink := &Sink{OnBlock: func(context.Context, *chain.Block) error { return broken }}
		done := make(chan error, 1)
		s := open(t, Setup{Chain: c})
		go func() { done <- s.Run(t.Context(), Ledger{}, sink) }()
		require.ErrorIs(t, wait(t, done), broken)
	})
}

func wait(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Minute):
		require.Fail(t, "Run does not return")
		return nil
	}
}

// inside leaves out slots before the chain's first block: sources may report any of these.
func inside(c Chain, slots []uint64) (out []uint64) {
	for _, s := range slots {
		if s >= c[0].Slot {
			out = append(out, s)
		}
	}
	return out
}

// RequireChain checks the blocks passed on: each once, in order, whole, with every transaction.
func RequireChain(t testing.TB, want Chain, got []*chain.Block) {
	t.Helper()
	wantSlots, gotSlots := make([]uint64, 0, len(want)), make([]uint64, 0, len(got))
	for _, b := range want {
		wantSlots = append(wantSlots, b.Slot)
	}
	for _, b := range got {
		gotSlots = append(gotSlots, b.Slot)
	}
	require.Equal(t, wantSlots, gotSlots)
	for i, b := range got {
		want[i].Require(t, b)
	}
}

// Require checks one block.
func (b *Block) Require(t testing.TB, got *chain.Block) {
	t.Helper()
	require.True(t, got.Whole)
	require.Equal(t, b.Hash, got.Blockhash)
	require.Equal(t, b.ParentHash, got.ParentBlockhash)
	require.NotNil(t, got.ParentSlot)
	require.Equal(t, b.Parent, *got.ParentSlot)
	require.Equal(t, b.BlockTime, got.BlockTime)
	require.Len(t, got.Transactions, b.Transactions)
	for i := range got.Transactions {
		tx := &got.Transactions[i]
		require.Equal(t, i, tx.Index)
		require.Equal(t, b.signatures[i][:], tx.Signature[:])
		require.Len(t, tx.Instructions, 1)
		mint, ok := tx.Account(&tx.Instructions[0].Call, 0)
		require.True(t, ok)
		require.Equal(t, b.mints[i], mint)
		require.Equal(t, world.MintToCall(b.Slot).Data, tx.Instructions[0].Data)
		require.Len(t, tx.PostBalances, 1)
	}
}
