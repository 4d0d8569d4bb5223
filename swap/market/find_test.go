package market

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

func TestTheDeepestPoolsAreKept(t *testing.T) {
	c := swaptest.New()
	a := swaptest.Named("coin")
	c.Mint(a, swaptest.TokenProgram, 6)
	for i := range 20 {
		k := c.CPMM(swaptest.Pool{Name: string(rune('a' + i)), Mints: [2]venue.Key{a, swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}})
		const lpSupply = 333
		c.Edit(k.Pool, func(d []byte) { d[lpSupply] = byte(i) })
	}
	m, err := New(Config{maxPools: 2}, Deps{RPC: c, Venues: venue.List{cpmm.Venue{}}})
	require.NoError(t, err)
	s, err := m.Snapshot(t.Context(), a, swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Len(t, s.Pools, 2)
	require.Equal(t, swaptest.Named("t"), s.Pools[0].Address())
	require.Equal(t, swaptest.Named("s"), s.Pools[1].Address())
	require.EqualValues(t, 1_700_000_000, s.Pools[0].Clock.UnixTime)
}

func TestAPoolThatCannotBeDecodedIsRefusedWithItsReason(t *testing.T) {
	c := swaptest.New()
	a := swaptest.Named("coin")
	c.Mint(a, swaptest.TokenProgram, 6)
	k := c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{a, swaptest.WrappedSOL}})
	c.Remove(k.Vaults[1])
	m, err := New(Config{}, Deps{RPC: c, Venues: venue.List{cpmm.Venue{}}})
	require.NoError(t, err)
	s, err := m.Snapshot(t.Context(), a, swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Empty(t, s.Pools)
	require.Len(t, s.Refused, 1)
	require.Equal(t, k.Pool, s.Refused[0].Address)
	require.Equal(t, venue.ErrClosed, venue.RefusalOf(s.Refused[0].Err))
}
