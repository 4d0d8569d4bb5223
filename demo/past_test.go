package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/ledger"
)

// TestTheNodeServesItsPast over JSON-RPC and in a replay, also after a restart in its first minutes
// with the same block times.
func TestTheNodeServesItsPast(t *testing.T) {
	cfg := Config{Seed: 4, TPS: 10, Tokens: 60, Wallets: 32, Manual: true, Past: time.Hour, publicBaseURL: "http://demo.test", StartSlot: 2000}
	n := start(t, cfg)
	require.EqualValues(t, 1999, n.Slot())
	require.NoError(t, n.Step(20))
	var slots []uint64
	require.Nil(t, call(t, n, &slots, "getBlocks", 1, 1999))
	require.Len(t, slots, 60)
	require.EqualValues(t, 1940, slots[0])
	var first, last int64
	require.Nil(t, call(t, n, &first, "getBlockTime", 1940))
	require.Nil(t, call(t, n, &last, "getBlockTime", 2000))
	require.EqualValues(t, 3600, last-first)
	require.Nil(t, call(t, n, nil, "getBlock", 1940, opt("encoding", "base64", "maxSupportedTransactionVersion", 1)))
	begin := uint64(1940)
	replay, err := n.Ledger().Subscribe(1, &begin)
	require.NoError(t, err)
	replay.Close()
	require.Equal(t, ledger.SlotFirstShred, replay.Backlog[0].Kind)
	require.EqualValues(t, 1940, replay.Backlog[0].Slot)

	again := cfg
	again.GenesisSlot, again.StartSlot = 1940, 2020
	second := start(t, again)
	for _, slot := range append(slots, 2000, 2001) {
		a, _, _ := n.Ledger().Block(slot)
		b, _, ok := second.Ledger().Block(slot)
		require.True(t, ok, slot)
		require.Equal(t, a.Hash, b.Hash)
		require.Equal(t, a.Time, b.Time)
		require.Len(t, b.Txs, len(a.Txs))
	}
}

// TestThePastOfARealTimeNodeEndsNow, and stays where it was when the node goes on an hour later.
func TestThePastOfARealTimeNodeEndsNow(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cfg := Config{Past: 24 * time.Hour, RealTime: true}.withDefaults()
	require.EqualValues(t, 400_000_000, cfg.StartSlot)
	require.EqualValues(t, 399_998_560, cfg.GenesisSlot)
	require.NoError(t, cfg.validate())
	first := cfg.chain("", begun)
	require.Equal(t, begun.UnixMilli(), first.TimeMS(cfg.StartSlot))
	require.Equal(t, begun.Add(-24*time.Hour).UnixMilli(), first.TimeMS(cfg.GenesisSlot))
	cfg.StartSlot, cfg.Anchors = cfg.StartSlot+500, first.Anchors
	later := cfg.chain("", begun.Add(time.Hour))
	for slot := cfg.GenesisSlot; slot < cfg.StartSlot; slot++ {
		require.Equal(t, first.TimeMS(slot), later.TimeMS(slot))
	}
	cfg.GenesisSlot, cfg.StartSlot = 0, 0
	require.ErrorContains(t, Config{GenesisSlot: 100, StartSlot: 150, Past: time.Hour}.validate(), "the 60 slots of the past")
}
