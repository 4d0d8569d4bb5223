package state

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// TestAVenueThatPanicsDoesNotEndTheFold: accounts of the stream reach a venue's code in the feed's
// own goroutine.
func TestAVenueThatPanicsDoesNotEndTheFold(t *testing.T) {
	for _, place := range venuetest.Places[:4] {
		t.Run(place, func(t *testing.T) {
			bad := &venuetest.Broken{Venue: twin{}}
			g, err := guard.New(venue.List{bad, cpmm.Venue{}}, guard.Deps{})
			require.NoError(t, err)
			f := NewFold(FoldConfig{}, g.Venues(nil))
			c := swaptest.New()
			coin := swaptest.Named("coin")
			c.Mint(coin, swaptest.TokenProgram, 6)
			healthy := c.CPMM(swaptest.Pool{Name: "healthy", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1 << 40, 1 << 40}})
			k := newTwin("bad")
			bad.Panics(place)
			ask(f, coin)
			ask(f, k.coin)
			begin(f)
			keys := []venue.Key{healthy.Pool, healthy.Vaults[0], healthy.Vaults[1], healthy.Config, coin, swaptest.WrappedSOL}
			_, accounts, err := c.GetMultipleAccounts(t.Context(), keys, solana.AccountOptions{})
			require.NoError(t, err)
			f.Listed(healthy.Pool, accounts[0])
			born(f, 11, k)
			f.Publish()
			f.Covered(f.Fresh(), 0)
			f.Confirmed(11, 0)
			f.Read(11, keys, accounts)
			f.Read(11, []venue.Key{k.keys[0], k.keys[1], k.keys[2], k.coin}, []*solana.Account{k.account(0, 5), k.account(1, 5), k.account(2, 5), mintAccount()})
			f.Publish()
			found, err := f.Snapshot().Pair(coin, swaptest.WrappedSOL)
			require.NoError(t, err)
			require.Len(t, found.Pools, 1)
			_, err = found.Pools[0].Quote(venue.Order{In: coin, Amount: 1000})
			require.NoError(t, err)

			found, err = f.Snapshot().Pair(k.coin, swaptest.WrappedSOL)
			require.NoError(t, err)
			for _, p := range found.Pools {
				_, err := p.Quote(venue.Order{In: k.coin, Amount: 1})
				require.ErrorIs(t, err, venue.ErrStopped)
			}
			for _, p := range found.Refused {
				require.ErrorIs(t, p.Err, venue.ErrStopped)
			}
			require.NotNil(t, g.Stopped("twin"))
			require.Nil(t, g.Stopped(cpmm.Name))
		})
	}
}
