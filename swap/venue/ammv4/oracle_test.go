package ammv4

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestTheFormulaInNumbersWithoutASize compares quotes with the formula in big numbers.
func TestTheFormulaInNumbersWithoutASize(t *testing.T) {
	exact := func(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
	ceil := func(a, b, d *big.Int) *big.Int {
		n := new(big.Int).Mul(a, b)
		return n.Add(n, d).Sub(n, big.NewInt(1)).Quo(n, d)
	}
	rapid.Check(t, func(t *rapid.T) {
		fee, divisor := rapid.Uint64Range(0, 9_999).Draw(t, "fee"), uint64(10_000)
		p := newPool([2]uint64{venuetest.Amount(t, "coin"), venuetest.Amount(t, "price")}, fee, divisor)
		amount := venuetest.Amount(t, "amount")
		ri, ro, a := exact(p.vaults[0]), exact(p.vaults[1]), exact(amount)

		net := new(big.Int).Sub(a, ceil(a, exact(fee), exact(divisor)))
		sum := new(big.Int).Add(ri, net)
		out := new(big.Int).Quo(new(big.Int).Mul(net, ro), sum)
		q, err := p.Quote(venue.Order{In: p.state.mints[0], Amount: amount})
		if !sum.IsUint64() || !new(big.Int).Add(ri, a).IsUint64() || out.Sign() == 0 {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, out.String(), exact(q.AmountOut).String())
		}

		q, err = p.Quote(venue.Order{In: p.state.mints[0], Amount: amount, ExactOut: true})
		if a.Cmp(ro) >= 0 {
			require.ErrorIs(t, err, venue.ErrNoLiquidity)
			return
		}
		net = ceil(ri, a, new(big.Int).Sub(ro, a))
		in := ceil(net, exact(divisor), exact(divisor-fee))
		if !new(big.Int).Add(ri, in).IsUint64() {
			require.ErrorIs(t, err, venue.ErrTooLarge)
			return
		}
		require.NoError(t, err)
		require.Equal(t, in.String(), exact(q.AmountIn).String())
	})
}
