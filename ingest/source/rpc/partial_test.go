package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
)

// newer is a node with a block that has a transaction of version 2.
type newer struct {
	*node
	slot uint64
	// noHeader means that the node checks the version of headers, too.
	noHeader bool
}

func (n newer) GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	raw, err := n.node.GetBlock(ctx, slot, opts)
	if slot == n.slot && (n.noHeader || !opts.HeaderOnly) && (opts.MaxVersion == nil || *opts.MaxVersion < 2) {
		return nil, &solana.RPCError{Code: solana.CodeUnsupportedVersion, Message: "Transaction version (2) is not supported by the requesting client. " +
			`Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 2`}
	}
	return raw, err
}

// TestABlockThatTheNodeWithholds: it has its place in the chain and names the version, and is asked
// for once. A source that reads the version gets it.
func TestABlockThatTheNodeWithholds(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	from, to := ends(c)
	n := newer{node: newNode(t, c), slot: c[5].Slot}
	sink := &sourcetest.Sink{}
	s := open(t, Config{From: from, To: to}, n)
	require.NoError(t, s.Run(t.Context(), sourcetest.Ledger{}, sink))
	require.Empty(t, sink.RefusedInputs())
	require.Len(t, sink.Blocks(), len(c))
	b := sink.Blocks()[5]
	require.Equal(t, c[5].Hash, b.Blockhash)
	require.Equal(t, c[5].Parent, *b.ParentSlot)
	require.False(t, b.Whole)
	require.Empty(t, b.Transactions)
	require.Len(t, b.Unread, 1)
	var version *txwire.VersionError
	require.ErrorAs(t, b.Unread[0].Err, &version)
	require.Equal(t, txwire.VersionError{Version: 2, Highest: txwire.Highest}, *version)

	for range 3 {
		require.NoError(t, s.Fill(t.Context(), n.slot, n.slot, sourcetest.Ledger{}, sink))
	}
	require.Equal(t, 1, n.asked[n.slot], "asked once")

	again := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{From: from, To: to, Reader: parse.UpTo(2)}, n).Run(t.Context(), sourcetest.Ledger{}, again))
	sourcetest.RequireChain(t, c, again.Blocks())
}

// calls counts the calls of all methods.
type calls struct {
	Client
	made atomic.Int64
}

func (c *calls) GetSlot(ctx context.Context, commitment solana.Commitment) (uint64, error) {
	c.made.Add(1)
	return c.Client.GetSlot(ctx, commitment)
}

func (c *calls) GetBlocks(ctx context.Context, from, to uint64, commitment solana.Commitment) ([]uint64, error) {
	c.made.Add(1)
	return c.Client.GetBlocks(ctx, from, to, commitment)
}

func (c *calls) GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	c.made.Add(1)
	return c.Client.GetBlock(ctx, slot, opts)
}

// TestSlotsThatAreAskedForInVainCostNoCall: a new transaction version makes a gap of every block,
// and the filler comes to all of them in each pass.
func TestSlotsThatAreAskedForInVainCostNoCall(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	n := &calls{Client: newer{node: newNode(t, c), slot: c[5].Slot}}
	s := open(t, Config{}, n)
	fill := func(from, to uint64) int64 {
		before := n.made.Load()
		require.NoError(t, s.Fill(t.Context(), from, to, sourcetest.Ledger{}, &sourcetest.Sink{}))
		return n.made.Load() - before
	}
	require.NotZero(t, fill(c[5].Slot, c[5].Slot), "nothing is known of the slot yet")
	require.Zero(t, fill(c[5].Slot, c[5].Slot))
	require.NotZero(t, fill(c[5].Slot, c[6].Slot), "the slot behind it can still be had")
}

// TestAWithheldBlockWithoutHeader: it is refused, and the reason names the version.
func TestAWithheldBlockWithoutHeader(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	from, to := ends(c)
	n := newer{node: newNode(t, c), slot: c[5].Slot, noHeader: true}
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{From: from, To: to}, n).Run(t.Context(), sourcetest.Ledger{}, sink))
	require.Len(t, sink.Blocks(), len(c)-1)
	refused := sink.RefusedInputs()
	require.Len(t, refused, 1)
	for _, err := range refused {
		var version *txwire.VersionError
		require.True(t, errors.As(err, &version), err)
		require.EqualValues(t, 2, version.Version)
	}
}

// partialLedger has everything but some slots.
type partialLedger struct {
	sourcetest.Ledger
	slots []uint64
}

func (l partialLedger) Missing(from, to uint64) (gaps []coverage.Gap) {
	for _, slot := range l.slots {
		if slot >= from && slot <= to {
			gaps = append(gaps, coverage.Gap{FromSlot: slot, ToSlot: slot})
		}
	}
	return gaps
}

// TestALiveSourceDoesNotAskAgain: while the tip is followed, the filler of gaps leaves a withheld
// block alone, and asks again for one that came broken, three times in all.
func TestALiveSourceDoesNotAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sourcetest.NewChain(1000, 12)
		n := newer{node: newNode(t, c), slot: c[5].Slot}
		withBroken := c[7].Slot
		n.blocks[withBroken] = breakOne(t, n.blocks[withBroken])
		sink := &sourcetest.Sink{}
		s := open(t, Config{From: &c[0].Slot, repairEvery: time.Second}, n)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, partialLedger{slots: []uint64{n.slot, withBroken}}, sink) }()
		time.Sleep(2 * time.Minute)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, 1, n.asked[n.slot])
		require.Equal(t, maxAsked, n.asked[withBroken])
	})
}

// breakOne makes the first transaction of a block unreadable, and adds it once more behind.
func breakOne(t testing.TB, block []byte) []byte {
	t.Helper()
	var b map[string]any
	require.NoError(t, json.Unmarshal(block, &b))
	entries := b["transactions"].([]any)
	b["transactions"] = append([]any{map[string]any{"transaction": []string{"AAAA", "base64"}, "meta": map[string]any{"err": nil}}}, entries...)
	out, err := json.Marshal(b)
	require.NoError(t, err)
	return out
}
