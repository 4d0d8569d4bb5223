// Package venuetest tests the properties that every venue must have, whatever its arithmetic.
package venuetest

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/swap/venue"
)

// Pool is a venue.Pool with the method After, which returns the pool as the swap of a quote leaves
// it. Only tests need After, so a venue has it in a file of its tests.
type Pool interface {
	venue.Pool
	After(quote venue.Quote) (venue.Pool, error)
}

// Case is a pool that a property test drew.
type Case struct {
	Pool  Pool
	Clock venue.Clock
	// Held is what the pool's vaults hold, by side.
	Held [2]uint64
	// SplitGains says that two trades may give more than one: part of the fee goes back into the
	// reserve that is bought, or the fee falls with the price.
	SplitGains bool
	// Rounding is by how many units a larger trade may give less than a smaller one, as several
	// fees round up each. It is also how much more than an exact-out quote's AmountIn an exact-in
	// order may need for the same output.
	Rounding uint64
}

// Amount draws an amount of any size.
func Amount(t *rapid.T, label string) uint64 {
	return rapid.OneOf(rapid.Uint64Range(1, 1000), rapid.Uint64Range(1, 1<<30), rapid.Uint64Range(1, 1<<50), rapid.Uint64Min(1)).Draw(t, label)
}

// Properties checks one pool:
//   - more in never gives less out, apart from Rounding
//   - never more out than the pool holds
//   - there and back never profits
//   - exact-out gives what was asked for, at a price that exact-in confirms, apart from Rounding
//   - one trade never gives less than the same in two, unless SplitGains is set
//   - a refusal has a reason
func Properties(t *rapid.T, c Case) {
	mints := c.Pool.Mints()
	side := rapid.IntRange(0, 1).Draw(t, "side")
	order := venue.Order{In: mints[side], Amount: Amount(t, "amount"), Clock: c.Clock}
	c.inverse(t, side, order)
	q, err := c.Pool.Quote(order)
	if err != nil {
		requireRefusal(t, err)
		return
	}
	require.LessOrEqual(t, q.AmountIn, order.Amount, "takes no more than offered")
	require.NotZero(t, q.AmountOut)
	require.LessOrEqual(t, q.AmountOut, c.Held[1-side], "gives no more than there is")
	c.monotone(t, order, q)
	after, err := c.Pool.After(q)
	require.NoError(t, err)
	if back, err := after.Quote(venue.Order{In: mints[1-side], Amount: q.AmountOut, Clock: c.Clock}); err == nil {
		require.LessOrEqual(t, back.AmountIn, q.AmountOut, "takes no more than offered")
		require.LessOrEqual(t, back.AmountOut, q.AmountIn, "there and back")
	}
	if !c.SplitGains {
		c.split(t, order, q)
	}
}

func requireRefusal(t *rapid.T, err error) {
	require.NotEmpty(t, venue.RefusalOf(err), "%v", err)
}

// monotone checks that a smaller order does not give more.
func (c Case) monotone(t *rapid.T, order venue.Order, q venue.Quote) {
	less := order
	less.Amount = rapid.Uint64Range(1, order.Amount).Draw(t, "less")
	if small, err := c.Pool.Quote(less); err == nil {
		require.LessOrEqual(t, small.AmountOut, q.AmountOut+c.Rounding, "monotone")
	}
}

// split checks that an order in two parts does not give more than as a whole, which is q.
func (c Case) split(t *rapid.T, order venue.Order, q venue.Quote) {
	if order.Amount < 2 {
		return
	}
	first, second := order, order
	first.Amount = rapid.Uint64Range(1, order.Amount-1).Draw(t, "first part")
	second.Amount = order.Amount - first.Amount
	a, err := c.Pool.Quote(first)
	if err != nil {
		return
	}
	between, err := c.Pool.After(a)
	require.NoError(t, err)
	if b, err := between.Quote(second); err == nil {
		require.LessOrEqual(t, a.AmountOut+b.AmountOut, q.AmountOut, "in two parts")
	}
}

// inverse checks an exact-out order, and that an exact-in order of what it takes gives as much.
func (c Case) inverse(t *rapid.T, side int, order venue.Order) {
	want := order
	want.ExactOut, want.Amount = true, Amount(t, "wanted")
	q, err := c.Pool.Quote(want)
	if err != nil {
		requireRefusal(t, err)
		return
	}
	require.GreaterOrEqual(t, q.AmountOut, want.Amount, "exact-out gives what was asked for")
	require.LessOrEqual(t, q.AmountOut, c.Held[1-side], "exact-out gives no more than there is")
	_, err = c.Pool.After(q)
	require.NoError(t, err)
	order.Amount = q.AmountIn + c.Rounding
	if order.Amount < q.AmountIn {
		return
	}
	if paid, err := c.Pool.Quote(order); err == nil {
		require.GreaterOrEqual(t, paid.AmountOut, want.Amount, "exact-in of what exact-out asks")
	}
}
