package rpc

import (
	"context"
	"math"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
	testliar "github.com/mintlake/mintlake/testworld/liar"
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

// A server that says a tip which cannot be is asked again: the source neither begins there nor
// waits for the chain to come there.
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

// A lone server lies about slots and times: what cannot be is refused, so that each block that is
// passed on is that of its slot, with its time.
func TestALoneServerThatLies(t *testing.T) {
	for seed := range uint64(3) {
		c := sourcetest.NewChain(470_000_000, 80)
		now := time.Unix(c[79].BlockTime, 0)
		within, err := bounds.New(bounds.Deps{Clock: func() time.Time { return now }})
		require.NoError(t, err)
		for _, b := range c[:20] {
			require.NoError(t, within.Block(b.Slot, &b.Parent, b.BlockTime))
		}
		l := testliar.New(serve(t, newNode(t, c)), testliar.Behaviour{Seed: seed, Share: 0.3, Only: []string{testliar.Slots, testliar.Times}})
		proxy := httptest.NewServer(l)
		t.Cleanup(proxy.Close)
		client, err := solana.NewClient(solana.Config{Endpoints: []string{proxy.URL}}, solana.Deps{})
		require.NoError(t, err)
		read := func(ledger sourcetest.Ledger) []uint64 {
			from, to := ends(c[20:]) // blocks before it are known
			s, err := New(Config{From: from, To: to, firstPause: time.Millisecond, poll: time.Millisecond, patience: 100 * time.Millisecond, Reader: parse.Reader{}.Within(within)},
				Deps{Client: client, Bounds: within})
			require.NoError(t, err)
			sink := runAll(t, s, ledger)
			for _, b := range sink.Blocks() {
				c.At(b.Slot).Require(t, b)
			}
			return sink.Slots()
		}
		had := read(sourcetest.Ledger{})
		require.Positive(t, l.Lies())
		l.Stop()
		all := slices.Concat(had, read(sourcetest.Ledger{}))
		for _, b := range c[20:] {
			require.Contains(t, all, b.Slot, "the server is honest now")
		}
	}
}

// A server answers a call with the block of an earlier one: it is asked again.
func TestABlockThatWasAnsweredBefore(t *testing.T) {
	c := sourcetest.NewChain(1000, 10)
	n := newNode(t, c)
	s := open(t, Config{}, n)
	for _, b := range c[:5] {
		_, err := s.block(t.Context(), b.Slot, asking{})
		require.NoError(t, err)
		_, err = s.block(t.Context(), b.Slot, asking{})
		require.NoError(t, err, "a block may be read again")
	}
	n.blocks[c[5].Slot] = c[4].JSON(t)
	_, err := s.block(t.Context(), c[5].Slot, asking{})
	require.ErrorIs(t, err, solana.ErrMalformed)
	require.ErrorContains(t, err, "the block of slot")
}
