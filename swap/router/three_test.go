package router

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
)

// TestAnExactAmountIsBoughtOverThreePools: each swap can pay the next, whatever is asked for, and
// the user gets at least that.
func TestAnExactAmountIsBoughtOverThreePools(t *testing.T) {
	w := newWorld(t)
	other := swaptest.Named("other")
	w.Mint(other, swaptest.TokenProgram, 6)
	w.pool("first", usdc, sol, 1e15, 1e16, 2500)
	w.pool("second", sol, other, 1e16, 1e14, 2500)
	w.pool("shallow", sol, other, 1e12, 1e10, 2500)
	w.pool("third", other, coin, 1e14, 1e15, 2500)
	graph := graphOf(w.edges)
	for amount := uint64(1000); amount < 1e13; amount *= 3 {
		q := question(usdc, coin, amount)
		q.ExactOut = true
		answer, err := Find(nil, graph, q)
		require.NoError(t, err)
		r := answer.Plans[0].Routes[0]
		require.Len(t, r.Legs, 3)
		for i := range r.Legs[:2] {
			require.True(t, r.Legs[i].Quote.Order.ExactOut)
			require.Equal(t, r.Legs[i].Quote.Out, r.Legs[i+1].Quote.Order.In)
			require.GreaterOrEqual(t, r.Legs[i].Quote.AmountOut, r.Legs[i+1].Quote.AmountIn)
		}
		require.Equal(t, r.Legs[0].Quote.AmountOut, r.Legs[1].Most)
		require.False(t, r.Legs[2].Quote.Order.ExactOut)
		require.GreaterOrEqual(t, r.AmountOut, amount)
		require.Equal(t, []Amount{{sol, r.Legs[0].Quote.AmountOut - r.Legs[1].Quote.AmountIn}}, r.Residual)
	}
	q := question(usdc, coin, 1e15)
	q.ExactOut = true
	_, err := Find(nil, graph, q)
	require.Error(t, err, "the last pool has not so much")

	// A direct pool that asks less wins.
	direct := w.pool("direct", usdc, coin, 1e15, 1e16, 100)
	q.Amount = 1_000_000
	answer, err := Find(nil, graphOf(w.edges), q)
	require.NoError(t, err)
	require.Equal(t, direct, answer.Plans[0].Routes[0].Legs[0].Address())
	require.Len(t, answer.Plans, 2)
}
