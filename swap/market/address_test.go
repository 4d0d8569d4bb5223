package market

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// TestPoolsAreFoundByTheirAddress: the account of a curve does not name its coin.
func TestPoolsAreFoundByTheirAddress(t *testing.T) {
	c := swaptest.New()
	coin := swaptest.Named("coin")
	c.Mint(coin, swaptest.Token2022Program, 6)
	address, err := pumpcurve.Address(coin)
	require.NoError(t, err)
	data := make([]byte, 200)
	copy(data, []byte{0x17, 0xb7, 0xf8, 0x37, 0x60, 0xd8, 0xac, 0x60})
	c.Set(address, pumpcurve.Program, data)
	m, err := New(Config{}, Deps{RPC: c, Venues: venue.List{pumpcurve.Venue{}}})
	require.NoError(t, err)
	s, err := m.Snapshot(t.Context(), coin, swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Len(t, s.Refused, 1, "found; the venue's own accounts are missing")
	require.Equal(t, address, s.Refused[0].Address)
	c.Set(address, swaptest.Named("other program"), data)
	other, err := New(Config{}, Deps{RPC: c, Venues: venue.List{pumpcurve.Venue{}}})
	require.NoError(t, err)
	s, err = other.Snapshot(t.Context(), coin, swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Empty(t, s.Refused)
}
