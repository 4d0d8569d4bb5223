package router

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheResidualIsWhatNoSwapUses: of a thousand amounts there is one of which a purchase on
// PumpSwap leaves the last unit to the user.
func TestTheResidualIsWhatNoSwapUses(t *testing.T) {
	w := newWorld(t)
	w.configs()
	w.pool("first", usdc, sol, 1e15, 1e16, 2500)
	w.pumpSwap("second", coin, sol, [2]uint64{1e16, 1e15}, false)
	graph, unused := graphOf(w.edges), 0
	for amount := uint64(1_000_000_000); amount < 1_000_020_000; amount++ {
		answer, err := Find(nil, graph, question(usdc, coin, amount))
		require.NoError(t, err)
		legs := answer.Plans[0].Routes[0].Legs
		require.Len(t, legs, 2)
		var residual uint64
		for _, left := range answer.Plans[0].Routes[0].Residual {
			require.Equal(t, legs[0].Quote.Out, left.Mint)
			residual += left.Units
		}
		require.Equal(t, legs[0].Quote.AmountOut-legs[1].Quote.AmountIn, residual)
		if legs[1].Quote.AmountIn < legs[1].Quote.Order.Amount {
			unused++
		}
	}
	require.Positive(t, unused, "the case did not occur")
}
