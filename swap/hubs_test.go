package swap

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestHubsAreTheMintsThatTakeMostSOL: a mint whose pools are shallow is none, however many pools it
// has, and configured hubs stay.
func TestHubsAreTheMintsThatTakeMostSOL(t *testing.T) {
	c := chain()
	var mints []venue.Key
	const sol = 1_000_000_000
	for i, depth := range []uint64{20_000, 1_000, 500_000, 100_000, 50_000} {
		m := swaptest.Named(fmt.Sprint("mint ", i))
		c.Mint(m, swaptest.TokenProgram, 6)
		mints = append(mints, m)
		c.CPMM(swaptest.Pool{Name: fmt.Sprint("pool ", i), Mints: [2]venue.Key{m, mint.WrappedSOL}, Amounts: [2]uint64{1 << 40, depth * sol}, TradeRate: 2500})
	}
	f := start(t, Config{Market: market.Config{StateTTL: hang, PoolsTTL: hang}}, c)
	require.Equal(t, []venue.Key{mint.WrappedSOL, usdc}, f.hubs(), "as long as nothing is known")
	for _, m := range mints {
		_, err := f.market.Read(t.Context(), mint.WrappedSOL, m)
		require.NoError(t, err)
	}
	require.Equal(t, []venue.Key{mint.WrappedSOL, mints[2], mints[3], mints[4]}, f.deepest(append(mints, mint.WrappedSOL)))
	require.Equal(t, []venue.Key{mint.WrappedSOL}, f.deepest(mints[1:2]))
	require.Equal(t, mints[:1], start(t, Config{Hubs: mints[:1]}, c).hubs())
}

// TestARouteOverThreePools: each swap but the last buys exactly what the next one may sell, and
// what stays is told by its mint.
func TestARouteOverThreePools(t *testing.T) {
	c := chain()
	one, two, last := swaptest.Named("one"), swaptest.Named("two"), swaptest.Named("last")
	for _, m := range []venue.Key{one, two, last} {
		c.Mint(m, swaptest.TokenProgram, 6)
	}
	for i, mints := range [][2]venue.Key{{coin, one}, {one, two}, {two, last}} {
		c.CPMM(swaptest.Pool{Name: fmt.Sprint("pool ", i), Mints: mints, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	}
	f := start(t, Config{Hubs: []venue.Key{one, two}}, c)
	r := f.quoteOK(t, query(coin, last, "1000000", fieldUser, wallet.String(), fieldSlippage, "50", fieldVersion, "1"))
	require.Len(t, r.Route, 3)
	require.Len(t, r.Routes, 1)
	require.Equal(t, r.Route[1].AmountOut, r.Route[2].AmountIn)
	require.Greater(t, number(t, r.Route[0].AmountOut), number(t, r.Route[1].AmountIn), "the second swap has slack too")
	require.Len(t, r.Residual, 2)
	require.Equal(t, one.String(), r.Residual[0].Mint)
	require.Equal(t, number(t, r.Route[0].AmountOut)-number(t, r.Route[1].AmountIn), number(t, r.Residual[0].AmountMax))
	require.Equal(t, coin.String(), r.Residual[1].Mint)
	f.refused(t, "GET", query(coin, last, "1000000", fieldOnlyDirect, "true"), "", 404, "no pool trades")
}
