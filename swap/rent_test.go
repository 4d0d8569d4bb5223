package swap

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestRentIsOfAccountsThatAreMissing: an account that exists costs nothing more, and lamports that
// somebody sent to its address are no account.
func TestRentIsOfAccountsThatAreMissing(t *testing.T) {
	c := chain()
	for _, mint := range []venue.Key{coin, taxed} {
		c.CPMM(swaptest.Pool{Name: mint.String(), Mints: [2]venue.Key{mint, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	}
	f := start(t, Config{}, c)
	plain, withFee := venue.DefaultRent.Of(165), venue.DefaultRent.Of(165+1+4+12)
	require.EqualValues(t, 1_488_440, plain)
	rent := func(in, out venue.Key) uint64 {
		t.Helper()
		return f.quoteOK(t, query(in, out, "100000", fieldUser, wallet.String())).Rent
	}
	account := func(mint, program venue.Key) venue.Key {
		t.Helper()
		key, err := venue.AssociatedAccount(venue.Key(wallet), mint, program)
		require.NoError(t, err)
		return key
	}
	require.EqualValues(t, plain, rent(swaptest.WrappedSOL, coin))
	require.EqualValues(t, withFee, rent(swaptest.WrappedSOL, taxed), "accounts of a mint with a transfer fee are longer")
	require.Zero(t, rent(coin, swaptest.WrappedSOL), "the account for wrapped SOL is closed again")

	own := account(coin, swaptest.TokenProgram)
	c.Set(own, venue.SystemProgram, nil)
	require.EqualValues(t, plain, rent(swaptest.WrappedSOL, coin))
	c.TokenAccount(own, swaptest.TokenProgram, coin, 5)
	require.Zero(t, rent(swaptest.WrappedSOL, coin))
	require.EqualValues(t, withFee, rent(coin, taxed), "it goes over SOL, which stays in no account")
}

// TestRentIsTheChains: the answer has the deposit that the chain demands now, whatever it was when
// the server started. What is no rent leaves the last one in force.
func TestRentIsTheChains(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "sol", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	f := start(t, Config{}, c)
	rent := func() uint64 {
		t.Helper()
		return f.quoteOK(t, query(swaptest.WrappedSOL, coin, "100000", fieldUser, wallet.String())).Rent
	}
	for _, r := range []struct {
		perByte   uint64
		threshold float64
		want      uint64
	}{
		{5080, 1, 1_488_440}, {6960, 1, 2_039_280}, {3480, 2, 2_039_280}, {6333, 1, 1_855_569}, {2575, 1, 754_475}, {1322, 1, 387_346}, {696, 1, 203_928},
	} {
		c.SetRent(r.perByte, r.threshold)
		require.Equal(t, r.want, rent(), r)
		require.Equal(t, r.want, f.rent().Of(tokenAccountSize), "routes are compared with it, too")
	}
	require.Zero(t, testutil.ToFloat64(f.metrics.rentsRefused))
	for _, r := range []struct {
		perByte   uint64
		threshold float64
	}{{1 << 63, 1}, {0, 1}, {5080, math.NaN()}, {5080, math.Inf(1)}, {5080, -1}, {5080, 0}, {69_601, 1}, {1 << 60, 1.0 / (1 << 50)}, {69, 1}} {
		before := testutil.ToFloat64(f.metrics.rentsRefused)
		c.SetRent(r.perByte, r.threshold)
		require.EqualValues(t, 203_928, rent(), r)
		require.Greater(t, testutil.ToFloat64(f.metrics.rentsRefused), before)
	}
	c.Set(venue.RentSysvar, venue.Key{}, make([]byte, venue.RentSize-1))
	require.EqualValues(t, 203_928, rent())
}

// TestRentIsReadWithoutAQuote: at the start, again after a failure, and once an hour. Before, and
// where a server has no such account, the default holds.
func TestRentIsReadWithoutAQuote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chain()
		c.SetRent(6960, 1)
		c.Fail(errors.New("away"))
		s, err := New(Config{Addr: "127.0.0.1:0"}, Deps{Keys: &keys.Static{}, RPC: c})
		require.NoError(t, err)
		require.Equal(t, venue.DefaultRent, s.rent())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.readRents(ctx); close(done) }()
		synctest.Wait()
		require.Equal(t, venue.DefaultRent, s.rent())
		c.Fail(nil)
		time.Sleep(rentRetry + time.Second)
		require.Equal(t, venue.Rent{LamportsPerByte: 6960, Threshold: 1}, s.rent())
		c.SetRent(2575, 1)
		time.Sleep(rentEvery)
		require.Equal(t, venue.Rent{LamportsPerByte: 2575, Threshold: 1}, s.rent())
		require.Equal(t, s.rent(), s.learnRent(nil))
		cancel()
		<-done
	})
}
