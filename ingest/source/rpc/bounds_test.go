package rpc

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/solana/bounds"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// boastful is a node that says slots which it has not reached.
type boastful struct {
	*node
	mu   sync.Mutex
	lies []uint64
}

func (b *boastful) GetSlot(ctx context.Context, commitment solana.Commitment) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lies) > 0 {
		lie := b.lies[0]
		b.lies = b.lies[1:]
		return lie, nil
	}
	return b.node.GetSlot(ctx, commitment)
}

// A server that says a tip which cannot be is asked again: the source neither begins there nor waits
// for the chain to come there.
func TestATipThatCannotBe(t *testing.T) {
	c := sourcetest.NewChain(470_000_000, 40)
	now := time.Unix(c[39].BlockTime, 0)
	within, err := bounds.New(bounds.Deps{Clock: func() time.Time { return now }})
	require.NoError(t, err)
	for _, b := range c[:20] {
		require.NoError(t, within.Block(b.Slot, &b.Parent, b.BlockTime))
	}
	tip := c[39].Slot
	node := &boastful{node: newNode(t, c), lies: []uint64{math.MaxUint64 - 1, math.MaxUint64, 1 << 53, 1e10, tip + 1_000_000, tip + 20_000}}
	s, err := New(Config{firstPause: time.Millisecond, poll: time.Millisecond}, Deps{Client: node, Bounds: within})
	require.NoError(t, err)
	sink := &sourcetest.Sink{}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, sourcetest.Ledger{}, sink) }()
	sink.Wait(t, "the block at the true tip", func() bool { return len(sink.Slots()) > 0 })
	stop()
	require.NoError(t, <-done)
	require.Equal(t, []uint64{tip}, sink.Slots())
	require.Empty(t, sink.RefusedInputs())
	require.Empty(t, node.lies)
}
