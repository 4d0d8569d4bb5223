package swap

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
)

// TestARedeployedVenueIsNotQuotedUntilItsSwapsProveIt, and the others go on.
func TestARedeployedVenueIsNotQuotedUntilItsSwapsProveIt(t *testing.T) {
	c := chain()
	deploy := func(code string) {
		c.Edit(swaptest.Clock, func([]byte) {})
		c.Deploy(cpmm.Program, c.Slot(), []byte(code))
		c.Edit(swaptest.Clock, func([]byte) {})
	}
	deploy("first")
	deep := c.CPMM(swaptest.Pool{Name: "deep", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 50, 1 << 50}, TradeRate: 100})
	other := ammV4(c, "other", 1<<40)
	f := start(t, Config{venues: venue.List{cpmm.Venue{}, ammv4.Venue{}}, Hubs: []venue.Key{}, terms: trust.Terms{Probe: 5 * time.Millisecond, Matches: 3}}, c)
	ask := query(coin, swaptest.WrappedSOL, "1000000")
	require.Equal(t, deep.Pool.String(), f.quoteOK(t, ask).Route[0].Pool)
	// Quotes do not wait for the executable to be read.
	require.Eventually(t, func() bool { return f.listedVenue(t, cpmm.Name).Build.Basis != nil }, hang, time.Millisecond)
	require.Equal(t, trust.BasisFirst, *f.listedVenue(t, cpmm.Name).Build.Basis)

	deploy("second")
	r := f.quoteOK(t, ask)
	require.Equal(t, other.String(), r.Route[0].Pool, "at once")
	report := r.Venues[0]
	require.Equal(t, cpmm.Name, report.Venue)
	require.Equal(t, trust.ReasonRedeployed, report.Stopped.Reason)
	require.Equal(t, deep.Pool.String(), report.Refused[0].Pool)
	require.Equal(t, codeStopped, report.Refused[0].Code)
	listed := f.listedVenue(t, cpmm.Name)
	require.Equal(t, statusStopped, listed.Status)
	require.Contains(t, *listed.Reason, "deployed anew")
	require.Zero(t, up(t, f, cpmm.Name))
	require.EqualValues(t, 1, up(t, f, ammv4.Name))
	f.refused(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "1000000", fieldDexes, cpmm.Name), "", http.StatusNotFound, "deployed anew")

	// Others trade on the pool: what they get is what a quote says.
	pool, err := c.Pool(t, cpmm.Venue{}, deep.Mints)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		q, err := pool.Quote(venue.Order{In: deep.Mints[0], Amount: 1_000_000})
		require.NoError(t, err)
		c.Run(swaptest.Ran{Pool: deep, In: q.AmountIn, Out: q.AmountOut})
		pool, err = c.Pool(t, cpmm.Venue{}, deep.Mints)
		require.NoError(t, err)
		f.do(t, http.MethodGet, ask, "") // which keeps the pool among those that are known
		return f.listedVenue(t, cpmm.Name).Status == statusPartly
	}, hang, 20*time.Millisecond)
	require.Equal(t, deep.Pool.String(), f.quoteOK(t, ask).Route[0].Pool)
	require.EqualValues(t, 1, up(t, f, cpmm.Name))
	status, body := f.do(t, http.MethodGet, routeQuote+"?src_mint="+coin.String()+"&dst_mint="+swaptest.WrappedSOL.String()+
		"&amount_out=1000&swap_mode=exact_out&slippage_bps=50&dexes="+cpmm.Name, "")
	require.Equal(t, http.StatusNotFound, status, string(body))
	require.Contains(t, string(body), codeStopped, "nobody proved this kind")
}

// TestPoolsOfArraysAreNotQuotedAfterADeployment: of each venue, at once.
func TestPoolsOfArraysAreNotQuotedAfterADeployment(t *testing.T) {
	for _, v := range []venue.Venue{whirlpool.Venue{}, dlmm.Venue{}, clmm.Raydium} {
		t.Run(v.Name(), func(t *testing.T) {
			c := chain()
			c.Deploy(v.Program(), c.Slot(), []byte("first"))
			c.Edit(swaptest.Clock, func([]byte) {})
			switch v.Name() {
			case whirlpool.Name:
				orca(t, c, "orca", coin, swaptest.WrappedSOL)
			case dlmm.Name:
				binned(t, c)
			default:
				concentrated(t, c, v.Program(), 20)
			}
			other := ammV4(c, "other", 1<<20)
			f := start(t, Config{venues: venue.List{v, ammv4.Venue{}}, Hubs: []venue.Key{}}, c)
			ask := query(coin, swaptest.WrappedSOL, "500000")
			require.Equal(t, v.Name(), f.quoteOK(t, ask).Route[0].Venue)

			c.Edit(swaptest.Clock, func([]byte) {})
			c.Deploy(v.Program(), c.Slot(), []byte("second"))
			c.Edit(swaptest.Clock, func([]byte) {})
			r := f.quoteOK(t, ask)
			require.Equal(t, other.String(), r.Route[0].Pool)
			at := slices.IndexFunc(r.Venues, func(report VenueReport) bool { return report.Venue == v.Name() })
			require.Equal(t, trust.ReasonRedeployed, r.Venues[at].Stopped.Reason)
			f.refused(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "500000", fieldDexes, v.Name()), "", http.StatusNotFound, "deployed anew")
		})
	}
}
