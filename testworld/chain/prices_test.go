package chain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quoted is the price of a pool's token in USDC, raw, and what the pool has of its quote token in
// USDC.
type quoted struct{ price, depth float64 }

// TestPoolsBeginAtTheirTokensPrice: over the past and some minutes behind it no new pool of a token
// is far from the token's deepest one, whatever their quote tokens are, no price of a pool jumps,
// and none of a token does when another pool of it becomes the deepest. So who reads the demo's
// chain and sees a token fall by half in a minute reads it wrong.
func TestPoolsBeginAtTheirTokensPrice(t *testing.T) {
	cfg := Config{Seed: 5, TPS: 100, Tokens: 300, Past: maxPast, GenesisTime: time.Unix(1_800_000_000, 0), ForkRate: 0.02, SkipRate: 0.03}
	g, err := New(cfg)
	require.NoError(t, err)
	last, deepest, born, between := map[*pool]quoted{}, map[*token]quoted{}, 0, 0
	const far, jump = 1.2, 1.5
	within := func(got, want, factor float64, what string, of *token) {
		require.Less(t, max(got/want, want/got), factor, "%s: %s at slot %d", what, of.symbol, g.next)
	}
	for range maxPast + 300 {
		g.Next(nil)
		now, sol := map[*token]quoted{}, g.priceOfSOL()
		for _, p := range g.pools {
			require.NotEqual(t, p.tokens[0].mint, p.tokens[1].mint)
			reserves, of := g.reserves(p), p.tokens[1-p.quote]
			unit := 1.0
			if p.tokens[p.quote].mint == NativeMint {
				unit = sol
			}
			q := quoted{float64(reserves[p.quote]) / float64(reserves[1-p.quote]) * unit, float64(reserves[p.quote]) * unit}
			before, known := last[p]
			switch first, other := deepest[of]; {
			case known:
				within(q.price, before.price, jump, "a price jumps", of)
			case other:
				born++
				within(q.price, first.price, far, "a new pool", of)
			}
			if last[p] = q; q.depth > now[of].depth {
				now[of] = q
			}
		}
		for of, q := range now {
			if before, known := deepest[of]; known {
				between++
				within(q.price, before.price, jump, "the deepest pool's price jumps", of)
			}
		}
		deepest = now
	}
	require.Greater(t, born, 10, "new pools beside others")
	require.Greater(t, between, 100_000, "prices of tokens from slot to slot")
}

// priceOfSOL is that of the deepest pool of SOL and USDC, raw.
func (g *Generator) priceOfSOL() (price float64) {
	depth := uint64(0)
	for _, p := range g.pools {
		usdc := 0
		if p.tokens[1].mint == USDCMint {
			usdc = 1
		}
		if p.tokens[usdc].mint == USDCMint && p.tokens[1-usdc].mint == NativeMint {
			if r := g.reserves(p); r[usdc] > depth {
				price, depth = float64(r[usdc])/float64(r[1-usdc]), r[usdc]
			}
		}
	}
	return price
}
