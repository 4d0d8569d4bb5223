package pumpcurve

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

// TestTheFormulaInNumbersWithoutASize compares sales and purchases with the formula in big numbers.
func TestTheFormulaInNumbersWithoutASize(t *testing.T) {
	exact := func(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
	fee := func(net *big.Int) *big.Int {
		n := new(big.Int).Mul(net, big.NewInt(95))
		return n.Add(n, big.NewInt(9_999)).Quo(n, big.NewInt(10_000))
	}
	rapid.Check(t, func(r *rapid.T) {
		s := state{tokens: venuetest.Amount(r, "tokens"), quote: venuetest.Amount(r, "quote")}
		s.realTokens, s.realQuote = s.tokens, s.quote
		p, amount := newPool(t, s, pumpfees.Rates{Protocol: 95}), venuetest.Amount(r, "amount")
		vt, vq, a := exact(s.tokens), exact(s.quote), exact(amount)

		sum := new(big.Int).Add(vt, a)
		net := new(big.Int).Quo(new(big.Int).Mul(a, vq), sum)
		out := new(big.Int).Sub(net, fee(net))
		q, err := p.Quote(venue.Order{In: p.mints[coin], Amount: amount})
		if !sum.IsUint64() || out.Sign() <= 0 {
			require.Error(r, err)
		} else {
			require.NoError(r, err)
			require.Equal(r, out.String(), exact(q.AmountOut).String())
		}

		q, err = p.Quote(venue.Order{In: p.mints[quote], Amount: amount, ExactOut: true})
		if a.Cmp(vt) >= 0 {
			require.ErrorIs(r, err, venue.ErrNoLiquidity)
			return
		}
		net = new(big.Int).Quo(new(big.Int).Mul(a, vq), new(big.Int).Sub(vt, a))
		net.Add(net, big.NewInt(1))
		in := new(big.Int).Add(net, fee(net))
		if !in.IsUint64() || !new(big.Int).Add(vq, net).IsUint64() {
			require.ErrorIs(r, err, venue.ErrTooLarge)
			return
		}
		require.NoError(r, err)
		require.Equal(r, in.String(), exact(q.AmountIn).String())
	})
}
