package pumpfees

import (
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

func drawRates(t *rapid.T) Rates {
	rate := rapid.Uint64Range(0, 2_000)
	return Rates{rate.Draw(t, "lp"), rate.Draw(t, "protocol"), rate.Draw(t, "creator")}
}

func exact(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// TestSplitIsTheFormula compares with the formula in big numbers.
func TestSplitIsTheFormula(t *testing.T) {
	whole := big.NewInt(Whole)
	rapid.Check(t, func(t *rapid.T) {
		r := drawRates(t)
		spend := rapid.OneOf(rapid.Uint64Range(0, 1000), rapid.Uint64()).Draw(t, "spend")
		net := new(big.Int).Mul(exact(spend), whole)
		net.Quo(net, new(big.Int).Add(whole, exact(r.Sum())))
		total := new(big.Int).Set(net)
		for _, rate := range []uint64{r.LP, r.Protocol, r.Creator} {
			fee := new(big.Int).Mul(net, exact(rate))
			total.Add(total, fee.Add(fee, big.NewInt(Whole-1)).Quo(fee, whole))
		}
		if over := new(big.Int).Sub(total, exact(spend)); over.Sign() > 0 {
			net.Sub(net, over)
		}
		got, fees, ok := r.Split(spend)
		if net.Sign() <= 0 {
			require.False(t, ok)
			return
		}
		// A total beyond 64 bits is refused, where the program's 128 bits would go on: nobody holds
		// as much.
		if !ok {
			require.False(t, total.IsUint64())
			return
		}
		require.Equal(t, net.String(), exact(got).String())
		paid, _ := fees.Sum()
		require.LessOrEqual(t, got+paid, spend)
	})
}

// TestGrossLeavesWhatIsWanted, and little less would not.
func TestGrossLeavesWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRates(t)
		want := rapid.OneOf(rapid.Uint64Range(1, 1000), rapid.Uint64Range(1, 1<<62)).Draw(t, "want")
		gross, ok := r.Gross(want)
		require.True(t, ok)
		require.True(t, r.leaves(gross, want))
		least := new(big.Int).Mul(exact(want), big.NewInt(Whole))
		least.Quo(least, exact(Whole-r.Sum()))
		require.LessOrEqual(t, new(big.Int).Sub(exact(gross), least).Int64(), int64(16))
	})
}

// TestTiersFollowTheMarketCap, which has more than 64 bits.
func TestTiersFollowTheMarketCap(t *testing.T) {
	data := append(discriminator[:], make([]byte, 33)...)
	put := func(list ...uint64) {
		for _, n := range list {
			data = binary.LittleEndian.AppendUint64(data, n)
		}
	}
	put(25, 5, 0)
	data = binary.LittleEndian.AppendUint32(data, 3)
	put(0, 0, 1, 1, 1, 1000, 0, 2, 2, 2, 0, 1, 3, 3, 3) // from 0, from 1000, from 2^64
	data = binary.LittleEndian.AppendUint32(data, 0)
	put(7, 7, 7)
	c, err := Decode(data)
	require.NoError(t, err)
	for _, e := range []struct {
		coin Coin
		want uint64
	}{
		{Coin{Canonical: true, Quote: mint.WrappedSOL, QuoteReserve: 999, Supply: 1, BaseReserve: 1}, 1},
		{Coin{Canonical: true, QuoteReserve: 1000, Supply: 1, BaseReserve: 1}, 2},
		{Coin{Canonical: true, Quote: native2022, QuoteReserve: 1000, Supply: 1, BaseReserve: 1}, 2},
		{Coin{Canonical: true, QuoteReserve: 1 << 63, Supply: 2, BaseReserve: 1}, 3},
		{Coin{Canonical: true, Quote: venue.Key{9}, QuoteReserve: 1 << 63, Supply: 2, BaseReserve: 1}, 7},
		{Coin{Quote: mint.WrappedSOL, QuoteReserve: 1 << 63, Supply: 2, BaseReserve: 1}, 25},
	} {
		r, err := c.Rates(e.coin)
		require.NoError(t, err)
		require.Equal(t, e.want, r.LP, "%+v", e.coin)
	}
	_, err = c.Rates(Coin{Canonical: true, Quote: usdc, BaseReserve: 1})
	require.ErrorIs(t, err, venue.ErrClosed, "no stable tiers")
	for length := range data {
		_, err := Decode(data[:length])
		if length < tiersAt+4+3*tierSize {
			require.ErrorIs(t, err, venue.ErrMalformed, length)
		}
	}
	data[65] = 0xff
	_, err = Decode(data)
	require.ErrorIs(t, err, venue.ErrMalformed, "more tiers than bytes")
}
