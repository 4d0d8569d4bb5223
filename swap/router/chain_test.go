package router

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// counted is a pool that counts its quotes in chains, and calls then before each.
type counted struct {
	venue.Chained
	first, next *int
	then        func()
}

func (c counted) QuoteFirst(o venue.Order) (venue.Quote, error) {
	*c.first++
	c.then()
	return c.Chained.QuoteFirst(o)
}

func (c counted) QuoteNext(first venue.Quote, next venue.Pool) (venue.Quote, error) {
	*c.next++
	c.then()
	if other, ok := next.(counted); ok {
		next = other.Chained
	}
	return c.Chained.QuoteNext(first, next)
}

// chainWorld has pools of a coin in SOL, and of another coin in that coin, all made by pump. The
// first of each is the best.
func chainWorld(t *testing.T, near, far int) (w *world, other venue.Key) {
	t.Helper()
	w, other = newWorld(t), swaptest.Named("other")
	w.Mint(other, swaptest.TokenProgram, 6)
	w.configs()
	config := make([]byte, 941)
	copy(config, []byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9})
	svmtest.KeysAt(config, map[int]venue.Key{643: swaptest.Named("buyback")})
	w.Set(pumpswap.GlobalConfig, pumpswap.Program, config)
	for i := range near {
		w.pumpSwap("near "+string(rune('a'+i)), coin, sol, [2]uint64{1 << 45, 1<<40 + uint64(i)<<30}, true)
	}
	for i := range far {
		w.pumpSwap("far "+string(rune('a'+i)), other, coin, [2]uint64{1 << 45, 1<<43 + uint64(i)<<33}, true)
	}
	return w, other
}

// TestARouteOfOneInstructionIsTheBestPairOfPools, and leaves nothing in the middle.
func TestARouteOfOneInstructionIsTheBestPairOfPools(t *testing.T) {
	w, other := chainWorld(t, 3, 4)
	for _, pair := range [][2]venue.Key{{sol, other}, {other, sol}} {
		q := question(pair[0], pair[1], 1_000_000_000)
		answer, err := Find(nil, graphOf(w.edges), q)
		require.NoError(t, err)
		best := answer.Plans[0]
		require.Len(t, best.Routes, 1)
		route := best.Routes[0]
		require.True(t, route.Chained)
		require.Empty(t, route.Residual)
		require.EqualValues(t, 1_000_000_000, route.AmountIn)
		var most uint64
		for _, e := range w.edges {
			for _, next := range w.edges {
				first := e.Pool.(venue.Chained)
				one, err := first.QuoteFirst(q.order(&e, q.In, q.Amount, false))
				if err != nil {
					continue
				}
				if two, err := first.QuoteNext(one, next.Pool); err == nil && two.Out == q.Out {
					most = max(most, two.AmountOut)
				}
			}
		}
		require.NotZero(t, most)
		require.Equal(t, most, route.AmountOut)
		var two *Plan
		for i, plan := range answer.Plans {
			if !plan.Routes[0].Chained {
				two = &answer.Plans[i]
				break
			}
		}
		require.NotNil(t, two, "it may not fit, or not be known: two swaps are a plan too")
		require.Less(t, two.AmountOut, route.AmountOut)

		q.ExactOut = true
		answer, err = Find(nil, graphOf(w.edges), q)
		require.NoError(t, err)
		for _, plan := range answer.Plans {
			require.False(t, plan.Routes[0].Chained, "the instruction has no exact-out form")
		}
	}
}

// TestChainsQuoteTheFirstSwapOnceAPool, and end with the search's time.
func TestChainsQuoteTheFirstSwapOnceAPool(t *testing.T) {
	w, other := chainWorld(t, 3, 5)
	first, next, left := 0, 0, -1
	then := func() { left-- }
	over := func() bool { return left == 0 }
	for i := range w.edges {
		w.edges[i].Pool = counted{w.edges[i].Pool.(venue.Chained), &first, &next, then}
	}
	_, err := Find(over, graphOf(w.edges), question(sol, other, 1_000_000_000))
	require.NoError(t, err)
	require.Equal(t, []int{3, 15}, []int{first, next})

	first, next, left = 0, 0, 4
	_, _ = Find(over, graphOf(w.edges), question(sol, other, 1_000_000_000))
	require.Equal(t, 4, first+next, "the time is over")
}
