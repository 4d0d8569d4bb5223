package swap

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

// TestASplitIsBetterThanOnePool: the parts add up, and so do the limits that the chain enforces.
func TestASplitIsBetterThanOnePool(t *testing.T) {
	c := chain()
	for _, name := range []string{"one", "two", "three"} {
		c.CPMM(swaptest.Pool{Name: name, Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	}
	f := start(t, Config{}, c)
	for _, mode := range []string{modeIn, modeOut} {
		amount := fieldAmount
		if mode == modeOut {
			amount = fieldAmountOut
		}
		path := query(coin, swaptest.WrappedSOL, "", fieldMode, mode, amount, "100000000", fieldUser, wallet.String())
		r := f.quoteOK(t, path)
		require.Len(t, r.Routes, 3)
		var in, out, shares uint64
		for _, part := range r.Routes {
			in, out, shares = in+number(t, part.AmountIn), out+number(t, part.AmountOut), shares+part.ShareBps
			require.InDelta(t, 3333, part.ShareBps, 40, "equal pools, equal parts")
		}
		require.EqualValues(t, []uint64{number(t, r.AmountIn), number(t, r.AmountOut), 10_000}, []uint64{in, out, shares})
		if mode == modeIn {
			require.Greater(t, r.AmountOut, formula(100_000_000, 1_000_000_000, 1_000_000_000, 2500))
		}
		_, steps := instructions(t, r.Txn)
		require.Equal(t, []string{stepLimit, stepPrice, stepCreate}, steps[:3])
		require.Len(t, steps, 7, "three swaps, and the closing")
		require.Equal(t, steps, func() []string { _, again := instructions(t, f.quoteOK(t, path).Txn); return again }())
	}
}

// TestARouteOverTwoPools: what is bought first is sold next to the unit, and what the price may
// move stays in the token that is sold.
func TestARouteOverTwoPools(t *testing.T) {
	c := chain()
	other := swaptest.Named("other")
	c.Mint(other, swaptest.TokenProgram, 6)
	c.CPMM(swaptest.Pool{Name: "first", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 500_000_000}, TradeRate: 2500})
	c.CPMM(swaptest.Pool{Name: "second", Mints: [2]venue.Key{other, swaptest.WrappedSOL}, Amounts: [2]uint64{3_000_000_000, 1_000_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	r := f.quoteOK(t, query(coin, other, "1000000", fieldUser, wallet.String()))
	require.Len(t, r.Route, 2)
	require.Equal(t, r.Route[0].TargetMint, r.Route[1].SourceMint)
	require.Equal(t, r.Route[0].AmountOut, r.Route[1].AmountIn, "nothing is left in the middle")
	require.Equal(t, "1000000", r.AmountIn)
	require.Equal(t, []Residual{{coin.String(), decimal(1_000_000 - number(t, r.Route[0].AmountIn))}}, r.Residual)
	require.InDelta(t, 1_000_000*0.0025, float64(number(t, r.Residual[0].AmountMax)), 10, "half of the slippage")
	_, steps := instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepCreate, "CPMMo 55", stepSwap, stepClose}, steps, "exact output, then exact input")

	r = f.quoteOK(t, query(coin, other, "", fieldMode, modeOut, fieldAmountOut, "1000000", fieldUser, wallet.String()))
	require.Equal(t, "1000000", r.MinAmountOut)
	require.GreaterOrEqual(t, number(t, r.AmountOut), uint64(1_000_000))
	require.Greater(t, number(t, r.MaxAmountIn), number(t, r.AmountIn))

	f.refused(t, http.MethodGet, query(coin, other, "1000000", fieldOnlyDirect, "true"), "", http.StatusNotFound, "no pool trades")
	f.refused(t, http.MethodGet, query(coin, other, "1000000", fieldMaxAccounts, "10"), "", http.StatusNotFound, "accounts of at most 10")
}

// TestStaleStateIsNeverQuoted: state that is more slots behind the highest that was reported than
// the client allows is a 503 with both slots.
func TestStaleStateIsNeverQuoted(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	f.market.Observe(1020)
	f.quoteOK(t, query(coin, taxed, "1000"))
	f.refused(t, http.MethodGet, query(coin, taxed, "1000", fieldMaxAge, "19"), "", http.StatusServiceUnavailable, "slot 1000, and the chain is at 1020")
	f.market.Observe(1021)
	status, body := f.do(t, http.MethodGet, query(coin, taxed, "1000"), "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"statusCode":503,"error":"Service Unavailable","code":"stale_state","slot":1000,"chain_slot":1021,
		"message":"the pools' state is of slot 1000, and the chain is at 1021: more than 20 slots behind"}`, string(body))
}

// TestACodedBodyIsRefused: a body is never decoded, whatever it claims to be: a few hundred bytes
// can decode to a gigabyte.
func TestACodedBodyIsRefused(t *testing.T) {
	f := start(t, Config{}, chain())
	var bomb bytes.Buffer
	w := brotli.NewWriter(&bomb)
	for range 16 {
		_, err := w.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	for _, coding := range []string{"br", "gzip", "deflate", "zstd", "gzip, br", "BR", "x-unknown"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/api/v2/swap", bytes.NewReader(bomb.Bytes()))
		require.NoError(t, err)
		request.Header.Set("X-API-KEY", f.key)
		request.Header.Set("Content-Encoding", coding)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUnsupportedMediaType, answer.StatusCode, coding)
	}
}
