package swap

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestUnverifiedPoolsAreListed: pools with a feature that nothing proves are told, with the code,
// and not quoted. Pools of another pair are not told.
func TestUnverifiedPoolsAreListed(t *testing.T) {
	c := chain()
	other := swaptest.Named("other")
	put := func(name, program string, discriminator []byte, size int, keys map[int]venue.Key) string {
		data := make([]byte, size)
		copy(data, discriminator)
		for at, key := range keys {
			copy(data[at:], key[:])
		}
		c.Set(swaptest.Named(name), pubkey.MustParse(program), data)
		return swaptest.Named(name).String()
	}
	// A curve of Meteora names its coin, and its config the token in which it is quoted.
	const dbc = "dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN"
	curve := []byte{0xd5, 0xe0, 0x05, 0xd1, 0x62, 0x45, 0x77, 0x5c}
	config := put("in another", dbc, []byte{0x1a, 0x6c, 0x0e, 0x7b, 0x74, 0xe6, 0x81, 0x2b}, 1048, map[int]venue.Key{8: other})
	c.Edit(pubkey.MustParse(config), func(data []byte) { // one segment, from a price of 1
		data[280+8], data[392+8], data[408+8], data[424+8] = 2, 1, 2, 1
	})
	want := map[string]string{
		put("shares", "Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB", []byte{0xf1, 0x9a, 0x6d, 0x04, 0x11, 0xb1, 0x6d, 0xbc}, 944,
			map[int]venue.Key{40: coin, 72: swaptest.WrappedSOL}): "meteora_damm_v1",
	}
	// Fees of 1, and a curve of an unknown kind.
	c.Edit(swaptest.Named("shares"), func(data []byte) {
		data[338], data[354], data[874] = 1, 1, 2
	})
	put("of another pair", dbc, curve, 424, map[int]venue.Key{72: swaptest.Named("in another"), 136: coin})
	f := start(t, Config{Hubs: []venue.Key{swaptest.WrappedSOL}}, c)
	status, body := f.do(t, http.MethodGet, routePools+"?mint="+coin.String(), "")
	require.Equal(t, http.StatusOK, status, string(body))
	var list struct {
		Pools    []ListedPool
		Unlisted []string
	}
	require.NoError(t, json.Unmarshal(body, &list))
	got := map[string]string{}
	for _, p := range list.Pools {
		got[p.Pool] = p.Venue
		require.Equal(t, string(venue.ErrUnverified), p.Refused.Code)
	}
	require.Equal(t, want, got)
	require.Empty(t, list.Unlisted)
	f.refused(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "1000"), "", http.StatusNotFound, "a curve of kind 2")
}
