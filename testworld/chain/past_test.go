package chain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestThePastIsADayOfMarket: a block a minute on its parent's slot, fewer than 20,000 transactions
// with trades in all hours, and then slots as ever.
func TestThePastIsADayOfMarket(t *testing.T) {
	cfg := Config{Seed: 4, TPS: 100, Tokens: 100, Past: maxPast, GenesisSlot: 1000, ForkRate: 0.3, SkipRate: 0.3, Switched: 7, Dead: 11,
		Anchors: []Anchor{{Slot: 1000 + maxPast, TimeMS: 1_800_000_000_000}}}
	g, err := New(cfg)
	require.NoError(t, err)
	transactions, trades := 0, map[int64]int{}
	before := map[Key]bool{}
	for _, p := range g.pools {
		before[p.key] = true
	}
	for slot := uint64(1000); slot < g.cfg.Live(); slot++ {
		s, _ := g.Next(nil)
		require.Equal(t, Live, s.Kind)
		require.Equal(t, slot, s.Number)
		require.Equal(t, slot-1, s.Block.Parent)
		require.Equal(t, 1_800_000_000-60*int64(g.cfg.Live()-slot), s.Block.Time)
		transactions += len(s.Block.Txs)
		for _, tx := range s.Block.Txs {
			for _, key := range tx.Message.AccountKeys() {
				if before[key] {
					trades[s.Block.Time/3600]++
				}
			}
		}
	}
	require.Less(t, transactions, 20_000)
	require.Greater(t, transactions, 15_000)
	require.Len(t, trades, 24, "trades in each hour")
	require.Greater(t, len(g.tokens), 100)
	require.Zero(t, g.pending, "the tokens that were asked for are there")
	lost := 0
	for range 200 {
		if s, _ := g.Next(nil); s.Kind != Live {
			lost++
		}
	}
	require.Greater(t, lost, 50)
	require.EqualValues(t, 1_800_000_000_000+200*200, g.cfg.TimeMS(g.NextSlot()))
}

// TestAChainGoesOnInItsPast from a checkpoint.
func TestAChainGoesOnInItsPast(t *testing.T) {
	cfg := Config{Seed: 4, TPS: 10, Tokens: 60, Wallets: 32, Past: 60, GenesisTime: time.Unix(1_800_000_000, 0)}
	plain, err := New(cfg)
	require.NoError(t, err)
	for range 30 {
		plain.Next(nil)
	}
	again, err := Resume(cfg, plain.Checkpoint())
	require.NoError(t, err)
	for range 60 {
		want, _ := plain.Next(nil)
		got, _ := again.Next(nil)
		require.Equal(t, want.Block.Hash, got.Block.Hash)
		require.Equal(t, want.Block.Time, got.Block.Time)
	}
	require.Equal(t, plain.Checkpoint(), again.Checkpoint())
	other := cfg
	other.Past++
	_, err = Resume(other, plain.Checkpoint())
	require.ErrorContains(t, err, "of another chain")
}
