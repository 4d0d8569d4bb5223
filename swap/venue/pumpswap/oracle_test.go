package pumpswap

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestTheFormulaInNumbersWithoutASize compares sales and purchases with the formula in big numbers,
// on a pool with a boost that pays flat fees of 25 and 5.
func TestTheFormulaInNumbersWithoutASize(t *testing.T) {
	fees := mainnetFees(t)
	exact := func(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
	ceil := func(a, b, d *big.Int) *big.Int {
		n := new(big.Int).Mul(a, b)
		return n.Add(n, d).Sub(n, big.NewInt(1)).Quo(n, d)
	}
	paid := func(gross *big.Int) *big.Int {
		whole := big.NewInt(10_000)
		return new(big.Int).Add(ceil(gross, big.NewInt(25), whole), ceil(gross, big.NewInt(5), whole))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := vector{Base: venuetest.Amount(t, "base"), Quote: venuetest.Amount(t, "quote"), Virtual: rapid.Int64().Draw(t, "virtual"), Supply: 1}
		p, amount := v.pool(fees), venuetest.Amount(t, "amount")
		b, vault, a := exact(v.Base), exact(v.Quote), exact(amount)
		q := new(big.Int).Add(vault, big.NewInt(v.Virtual))
		if q.Sign() <= 0 || !q.IsUint64() {
			_, err := p.Quote(venue.Order{In: p.state.base, Amount: amount})
			require.ErrorIs(t, err, venue.ErrNoLiquidity)
			return
		}
		gross := new(big.Int).Mul(q, a)
		gross.Quo(gross, new(big.Int).Add(b, a))
		out := new(big.Int).Sub(gross, paid(gross))
		kept := ceil(gross, big.NewInt(25), big.NewInt(10_000))
		got, err := p.Quote(venue.Order{In: p.state.base, Amount: amount})
		if !new(big.Int).Add(b, a).IsUint64() || out.Sign() <= 0 || new(big.Int).Sub(gross, kept).Cmp(vault) > 0 {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, out.String(), exact(got.AmountOut).String())
		}

		got, err = p.Quote(venue.Order{In: p.state.quote, Amount: amount, ExactOut: true})
		if a.Cmp(b) >= 0 {
			require.ErrorIs(t, err, venue.ErrNoLiquidity)
			return
		}
		gross = ceil(q, a, new(big.Int).Sub(b, a))
		in := new(big.Int).Add(gross, paid(gross))
		if !new(big.Int).Add(vault, in).IsUint64() {
			require.ErrorIs(t, err, venue.ErrTooLarge)
			return
		}
		require.NoError(t, err)
		require.Equal(t, in.String(), exact(got.AmountIn).String())
	})
}
