package router

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/venue"
)

// TestQuotesTellTheAccountsOfTheirInstruction: of the one that the pool makes, on every venue that
// tells them.
func TestQuotesTellTheAccountsOfTheirInstruction(t *testing.T) {
	w, _ := market(t, 200, 3)
	told := map[string]int{}
	user := venue.UserAccounts{Owner: venue.Key{1}, Source: venue.Key{2}, Destination: venue.Key{3}}
	for _, e := range w.edges {
		for i := range 4 {
			order := venue.Order{In: e.Mints()[i%2], Amount: 1000, ExactOut: i < 2, Clock: e.Clock}
			quote, err := e.Quote(order)
			if err != nil || quote.Accounts == 0 {
				continue
			}
			told[e.Venue]++
			list, err := e.Instructions(quote, 1, user)
			require.NoError(t, err)
			require.Len(t, list, 1, e.Venue)
			require.Equal(t, int(quote.Accounts), len(list[0].Accounts)+1, e.Venue)
			require.LessOrEqual(t, len(list[0].Data), venue.MostData, e.Venue)
			for _, m := range list[0].Accounts {
				require.Equal(t, m.Key == user.Owner, m.Signer, "only the user signs, on %s", e.Venue)
			}
		}
	}
	for _, name := range []string{"raydium_amm_v4", "raydium_cpmm", "meteora_damm_v2"} {
		require.Greater(t, told[name], 20, name)
	}
}
