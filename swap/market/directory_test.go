package market

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/swap/venue/dbc"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// lister lists a chain's accounts by their size, as a server does that applies the data slice.
type lister struct{ *swaptest.Chain }

func (l lister) ProgramAccounts(ctx context.Context, program pubkey.Key, o solana.ProgramOptions, use func(pubkey.Key, []byte) error) (err error) {
	listing := Listing{Program: program, Filter: venue.Filter{Size: o.Filters[0].DataSize}}
	failed := ProgramAccounts(ctx, l.Chain, listing, func(address pubkey.Key, data []byte) {
		if err == nil {
			err = use(address, data[o.DataSlice.Offset:o.DataSlice.Offset+o.DataSlice.Length])
		}
	})
	return errors.Join(err, failed)
}

// TestADirectoryHasThePoolsOfEachPair: those that were listed and those that were born since, each
// once. A pair is then read without a listing.
func TestADirectoryHasThePoolsOfEachPair(t *testing.T) {
	c, d := swaptest.New(), &Directory{}
	coins := [2]venue.Key{swaptest.Named("one"), swaptest.Named("two")}
	var pools [2]swaptest.PoolKeys
	for i, coin := range coins {
		c.Mint(coin, swaptest.TokenProgram, 6)
		pools[i] = c.CPMM(swaptest.Pool{Name: coin.String(), Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}})
	}
	find := func(coin venue.Key) []venue.Key {
		found, ok := d.Find(cpmm.Program, swaptest.WrappedSOL, coin)
		require.True(t, ok)
		return found
	}
	list := func() Whole {
		t.Helper()
		listed, err := d.List(t.Context(), lister{c}, cpmm.Venue{}, 0)
		require.NoError(t, err)
		return listed
	}
	d.Born(cpmm.Program, coins[0], swaptest.WrappedSOL, pools[0].Pool)
	listed := list()
	_, ok := d.Find(cpmm.Program, swaptest.WrappedSOL, coins[0])
	require.False(t, ok, "not before it is filled")
	d.Fill(listed)
	require.Equal(t, 2, d.Len())
	for i, coin := range coins {
		require.Equal(t, []venue.Key{pools[i].Pool}, find(coin))
	}
	late := c.CPMM(swaptest.Pool{Name: "late", Mints: [2]venue.Key{coins[1], swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}})
	for range 2 {
		d.Born(cpmm.Program, swaptest.WrappedSOL, coins[1], late.Pool)
	}
	require.Equal(t, []venue.Key{pools[1].Pool, late.Pool}, find(coins[1]))
	require.Empty(t, find(swaptest.Named("three")))

	m, err := New(Config{}, Deps{RPC: c, Venues: venue.List{cpmm.Venue{}}, Directory: d})
	require.NoError(t, err)
	listings := c.Calls("getProgramAccounts")
	snapshot, err := m.Snapshot(t.Context(), coins[1], swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Len(t, snapshot.Pools, 2)
	require.Equal(t, listings, c.Calls("getProgramAccounts"))

	// Another venue that cannot be listed does not matter.
	curve, err := d.List(t.Context(), lister{c}, pumpcurve.Venue{}, 0)
	require.NoError(t, err)
	d.Fill(curve)
	_, ok = d.Find(pumpcurve.Program, swaptest.WrappedSOL, coins[1])
	require.False(t, ok)
	require.Len(t, find(coins[1]), 2)

	d.Expire()
	_, ok = d.Find(cpmm.Program, swaptest.WrappedSOL, coins[1])
	require.False(t, ok)
	require.Equal(t, 1, d.Len(), "what showed itself stays")
	c.Remove(late.Pool) // a server that has not seen it yet
	d.Fill(list())
	require.Equal(t, []venue.Key{pools[1].Pool, late.Pool}, find(coins[1]))
	d.Fill(list())
	require.Equal(t, 3, d.Len())
}

// wholeAccounts is a server that ignores the data slice.
type wholeAccounts struct{ lister }

func (w wholeAccounts) ProgramAccounts(ctx context.Context, program pubkey.Key, o solana.ProgramOptions, use func(pubkey.Key, []byte) error) error {
	o.DataSlice = &solana.DataSlice{Length: o.DataSlice.Length + 1}
	return w.lister.ProgramAccounts(ctx, program, o, use)
}

// TestAListingOfOtherAccountsIsAnError, and no venue without pools.
func TestAListingOfOtherAccountsIsAnError(t *testing.T) {
	c, d, one := swaptest.New(), &Directory{}, swaptest.Named("one")
	c.Mint(one, swaptest.TokenProgram, 6)
	c.CPMM(swaptest.Pool{Name: "pool", Mints: [2]venue.Key{one, swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}})
	_, err := d.List(t.Context(), wholeAccounts{lister{c}}, cpmm.Venue{}, 0)
	require.ErrorContains(t, err, "65 bytes in place of 64")
}

// TestAFullDirectoryDoesNotAnswer for the venue of a pool that has no place.
func TestAFullDirectoryDoesNotAnswer(t *testing.T) {
	d, one := &Directory{}, swaptest.Named("one")
	d.Fill(Whole{program: cpmm.Program, places: make([]place, maxPlaces)})
	_, ok := d.Find(cpmm.Program, one, swaptest.WrappedSOL)
	require.True(t, ok)
	d.Born(cpmm.Program, one, swaptest.WrappedSOL, swaptest.Named("pool"))
	_, ok = d.Find(cpmm.Program, one, swaptest.WrappedSOL)
	require.False(t, ok)
	require.Zero(t, d.Len())
}

// TestEveryVenueWithFiltersIsListedWhole: the mints of each filter lie where it says, so the filter
// without them finds the pools of all pairs.
func TestEveryVenueWithFiltersIsListedWhole(t *testing.T) {
	a, b := swaptest.Named("a"), swaptest.Named("b")
	for _, v := range all.Venues() {
		for _, f := range v.Lookup(a, b).Filters {
			// A pool of Meteora's curves names one of its mints: they are listed pair by pair.
			if v.Name() == dbc.Name {
				require.Zero(t, f.MintsAt)
				continue
			}
			whole, ok := f.Whole()
			require.True(t, ok, v.Name())
			data := make([]byte, max(f.Size, 2000))
			for _, part := range f.Parts {
				copy(data[part.Offset:], part.Bytes)
			}
			require.True(t, f.Matches(data[:max(f.Size, len(data))]) || f.Size > 0 && f.Matches(data[:f.Size]))
			mints := [2]venue.Key{venue.Key(data[f.MintsAt[0]:]), venue.Key(data[f.MintsAt[1]:])}
			require.ElementsMatch(t, []venue.Key{a, b}, mints[:], v.Name())
			for _, part := range whole.Parts {
				require.NotContains(t, string(part.Bytes), string(a[:]), v.Name())
			}
			require.True(t, whole.Size > 0 || len(whole.Parts) > 0, "%s: or it finds other accounts too", v.Name())
		}
	}
}
