package swap

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/dammv1"
)

// TestDAMMv1PoolsAreQuoted: a recorded pool of SOL and mSOL is found by its mints, read with its
// vaults and with Marinade's price, and gives what the program gave at that time.
func TestDAMMv1PoolsAreQuoted(t *testing.T) {
	c := chain()
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/swap-vectors/meteora-damm-v1/accounts"), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		var one struct {
			Pubkey  string
			Account struct {
				Data  []string
				Owner string
			}
		}
		require.NoError(t, json.Unmarshal(raw, &one))
		data, err := base64.StdEncoding.DecodeString(one.Account.Data[0])
		require.NoError(t, err)
		c.Set(pubkey.MustParse(one.Pubkey), pubkey.MustParse(one.Account.Owner), data)
	}
	c.At(venue.Clock{Slot: 273_000_000, Epoch: 631, UnixTime: 1_719_233_067})
	f := start(t, Config{Hubs: []venue.Key{}}, c)
	msol := pubkey.MustParse("mSoLzYCxHdYgdzU16g5QSh3i5K3z3KZK7ytfqcJm7So")
	r := f.quoteOK(t, query(swaptest.WrappedSOL, msol, "1000000000"))
	require.Equal(t, dammv1.Name, r.Route[0].Venue)
	require.Equal(t, "835119750", r.AmountOut)
	back := f.quoteOK(t, query(msol, swaptest.WrappedSOL, "100000000000"))
	require.Equal(t, "119718911816", back.AmountOut)
	exact := f.quoteOK(t, query(swaptest.WrappedSOL, msol, "", fieldMode, modeOut, fieldAmountOut, "835119750"))
	require.Equal(t, "835119750", exact.AmountOut, "the program has no such swap: the least sale that gives it is made")
	require.LessOrEqual(t, number(t, exact.AmountIn), uint64(1_000_000_000))

	status, body := f.do(t, http.MethodGet, routeJupiterLabels, "")
	require.Equal(t, http.StatusOK, status)
	var labels map[string]string
	require.NoError(t, json.Unmarshal(body, &labels))
	require.Equal(t, "Meteora", labels[dammv1.Program.String()])
}
