package swap

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// formula is the CPMM's, in numbers without a size.
func formula(amount, ri, ro, rate int64) string {
	fee := new(big.Int).Mul(big.NewInt(amount), big.NewInt(rate))
	fee.Add(fee, big.NewInt(999_999)).Quo(fee, big.NewInt(1_000_000))
	net := new(big.Int).Sub(big.NewInt(amount), fee)
	out := new(big.Int).Mul(net, big.NewInt(ro))
	return out.Quo(out, net.Add(net, big.NewInt(ri))).String()
}

func TestQuoteTakesTheBestPool(t *testing.T) {
	c := chain()
	big := c.CPMM(swaptest.Pool{Name: "big", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 10_000})
	c.CPMM(swaptest.Pool{Name: "closed", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1, 1 << 60}, TradeRate: 1, Status: 4})
	c.CPMM(swaptest.Pool{Name: "future", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1, 1 << 60}, TradeRate: 1, OpenTime: 1_700_000_001})
	c.CPMM(swaptest.Pool{Name: "other pair", Mints: [2]venue.Key{taxed, swaptest.WrappedSOL}, Amounts: [2]uint64{1, 1 << 60}, TradeRate: 1})
	f := start(t, Config{}, c)

	r := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "100000"))
	require.Equal(t, formula(100_000, 1_000_000_000, 1_000_000_000, 10_000), r.AmountOut)
	require.Equal(t, "98990", r.AmountOut)
	require.Equal(t, "98495", r.MinAmountOut, "rounded down")
	require.Equal(t, []Leg{{cpmm.Name, big.Pool.String(), r.SourceMint, r.TargetMint, "100000", "98990", r.Fees}}, r.Route)
	require.Equal(t, []Fee{{venue.FeePool.String(), coin.String(), "1000"}}, r.Fees)
	require.EqualValues(t, 1, r.PriceImpactBps)
	require.EqualValues(t, 1000, r.Slot)
	require.Nil(t, r.Transaction)
	require.Len(t, r.Venues, 1)
	require.Equal(t, 3, r.Venues[0].Pools)
	require.ElementsMatch(t, []string{"no_liquidity", "no_liquidity"}, []string{r.Venues[0].Refused[0].Code, r.Venues[0].Refused[1].Code})

	c.CPMM(swaptest.Pool{Name: "small", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	r = f.quoteOK(t, query(coin, swaptest.WrappedSOL, "100"))
	require.Equal(t, formula(100, 1_000_000, 1_000_000, 2500), r.AmountOut, "for a small trade the cheaper pool is the better one")
	_, body := f.do(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "100"), "")
	require.NotContains(t, string(body), `"txn"`)
}

func TestTransferFeesCount(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	r := f.quoteOK(t, query(taxed, coin, "100000"))
	require.Equal(t, formula(99_000, 1_000_000_000, 1_000_000_000, 2500), r.AmountOut, "1 % never reaches the pool")
	require.Equal(t, "100000", r.AmountIn)
	require.Equal(t, Fee{venue.FeeTransfer.String(), taxed.String(), "1000"}, r.Fees[0])

	r = f.quoteOK(t, query(coin, taxed, "10000000"))
	gross := formula(10_000_000, 1_000_000_000, 1_000_000_000, 2500)
	var n int64
	fmt.Sscan(gross, &n)
	require.Equal(t, fmt.Sprint(n-5_000), r.AmountOut, "the mint's maximum")
}

func TestNoRoute(t *testing.T) {
	c := chain()
	f := start(t, Config{}, c)
	f.refused(t, http.MethodGet, query(coin, taxed, "1"), "", http.StatusNotFound, "no pool trades")
	f.refused(t, http.MethodGet, query(coin, swaptest.Named("nothing"), "1"), "", http.StatusNotFound, "no such account")
	hook := swaptest.Named("hook")
	c.Mint(hook, swaptest.Token2022Program, 6, swaptest.Extension(14, bytes.Repeat([]byte{1}, 64))...)
	c.CPMM(swaptest.Pool{Name: "hooked", Mints: [2]venue.Key{hook, coin}, Amounts: [2]uint64{1000, 1000}})
	f.refused(t, http.MethodGet, query(coin, hook, "1"), "", http.StatusNotFound, "hook program")

	p := c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f.refused(t, http.MethodGet, query(coin, taxed, "1"), "", http.StatusNotFound, "nothing would come out")
	f.refused(t, http.MethodGet, query(coin, taxed, "18446744073709551615"), "", http.StatusNotFound, "64 bits")
	c.Edit(p.Pool, func(data []byte) { data[329] = 4 })
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusNotFound, "swaps are disabled")
	c.Edit(p.Pool, func(data []byte) { data[329] = 0; data[0]++ })
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusNotFound, "no pool")
}

func TestNodeAway(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	c.Fail(errors.New("connection refused by S3CRET"))
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "does not answer")
	c.Fail(nil)
	f.quoteOK(t, query(coin, taxed, "1000"))

	f = start(t, Config{}, nil)
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "--rpc-upstream")
	f.refused(t, http.MethodGet, "/readyz", "", http.StatusServiceUnavailable, "--rpc-upstream")

	f = start(t, Config{timeout: 50 * time.Millisecond}, c)
	release := c.Hold()
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "in time")
	release()
}

// lookups are the calls by which the pools of a pair are found.
func lookups() (searches, reads int) {
	for _, v := range all.Venues() {
		l := v.Lookup(coin, taxed)
		searches += len(l.Filters)
		if len(l.Addresses) > 0 {
			reads++
		}
	}
	return searches, reads
}

func TestRequestsForOnePairShareARead(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f := start(t, Config{Market: market.Config{StateTTL: time.Hour, PoolsTTL: time.Hour}}, c)
	release := c.Hold()
	var wg sync.WaitGroup
	for i := range 20 {
		path := query(coin, taxed, "1000", fieldOnlyDirect, "true")
		if i%2 == 0 {
			path = query(taxed, coin, "1000", fieldOnlyDirect, "true")
		}
		wg.Go(func() { f.quoteOK(t, path) })
	}
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.inFlight) == 20 }, hang, time.Millisecond)
	release()
	wg.Wait()
	searches, reads := lookups()
	require.Equal(t, searches, c.Calls("getProgramAccounts"))
	require.Equal(t, reads+1, c.Calls("getMultipleAccounts"))
}

func TestInFlightIsBounded(t *testing.T) {
	c := chain()
	f := start(t, Config{maxInFlight: 1}, c)
	release := c.Hold()
	var wg sync.WaitGroup
	wg.Go(func() { f.do(t, http.MethodGet, query(coin, taxed, "1000"), "") })
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.inFlight) == 1 }, hang, time.Millisecond)
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "in flight")
	release()
	wg.Wait()
}

func TestManyPoolsAreReadInSeveralCalls(t *testing.T) {
	c := chain()
	for i := range 60 {
		c.CPMM(swaptest.Pool{Name: fmt.Sprint("p", i), Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000 + uint64(i)*1000}, TradeRate: 2500})
	}
	f := start(t, Config{}, c)
	f.quoteOK(t, query(coin, taxed, "100000", fieldOnlyDirect, "true"))
	_, reads := lookups()
	require.Equal(t, reads+3, c.Calls("getMultipleAccounts"), "24 pools of 4 accounts a call")
}
