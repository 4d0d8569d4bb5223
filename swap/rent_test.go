package swap

import (
	"testing"

	"github.com/stretchr/testify/require"

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
	const plain, withFee = 2_039_280, 2_039_280 + (1+4+12)*6_960
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
