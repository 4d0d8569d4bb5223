package chain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quoted is the price of a pool's token in its quote token, raw, and what the pool has of that.
type quoted struct{ price, depth float64 }

// TestPoolsBeginAtTheirTokensPrice: over the past and some minutes behind it no new pool of a token
// is far from the token's deepest one with the same quote, and no price jumps.
func TestPoolsBeginAtTheirTokensPrice(t *testing.T) {
	cfg := Config{Seed: 5, TPS: 100, Tokens: 300, Past: maxPast, GenesisTime: time.Unix(1_800_000_000, 0), ForkRate: 0.02, SkipRate: 0.03}
	g, err := New(cfg)
	require.NoError(t, err)
	type pair struct{ base, quote *token }
	last, deepest, born := map[*pool]quoted{}, map[pair]quoted{}, 0
	const far, jump = 1.2, 1.5
	within := func(got, want, factor float64, what string, p *pool) {
		require.Less(t, max(got/want, want/got), factor, "%s: %s on %T at slot %d", what, p.tokens[1-p.quote].symbol, p.dex, g.next)
	}
	for range maxPast + 300 {
		g.Next(nil)
		now := map[pair]quoted{}
		for _, p := range g.pools {
			require.NotEqual(t, p.tokens[0].mint, p.tokens[1].mint)
			reserves, of := g.reserves(p), pair{p.tokens[1-p.quote], p.tokens[p.quote]}
			q := quoted{float64(reserves[p.quote]) / float64(reserves[1-p.quote]), float64(reserves[p.quote])}
			before, known := last[p]
			switch first, other := deepest[of]; {
			case known:
				within(q.price, before.price, jump, "a price jumps", p)
			case other:
				born++
				within(q.price, first.price, far, "a new pool", p)
			}
			last[p] = q
			if q.depth > now[of].depth {
				now[of] = q
			}
		}
		deepest = now
	}
	require.Greater(t, born, 10, "new pools beside others")
}
