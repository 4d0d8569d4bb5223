package swap

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/lookup"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
	"github.com/mintlake/mintlake/testworld/layout"
)

// TestTransactionsUseLookupTables: the answer names those that its transaction uses. A table that
// is not alive is as none.
func TestTransactionsUseLookupTables(t *testing.T) {
	c := chain()
	pool := c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	tables := map[string]venue.Key{"alive": swaptest.Named("alive"), "ended": swaptest.Named("ended")}
	entries := []venue.Key{cpmm.Authority, pool.Config, pool.Pool, pool.Vaults[0], pool.Vaults[1], pool.Observation, coin}
	for _, key := range tables {
		c.Set(key, lookup.Program, layout.LookupTable{Extended: 999, Addresses: entries}.Bytes())
	}
	c.Edit(tables["ended"], func(data []byte) { data[4] = 1 })
	path := query(coin, swaptest.WrappedSOL, "100000", fieldUser, wallet.String())
	length := func(f *fixture, used ...string) int {
		r := f.quoteOK(t, path)
		require.Equal(t, append([]string{}, used...), r.LookupTables)
		raw, err := base64.StdEncoding.DecodeString(r.Txn)
		require.NoError(t, err)
		return len(raw)
	}
	without := length(start(t, Config{}, c))
	require.Equal(t, without, length(start(t, Config{LookupTables: []venue.Key{tables["ended"], swaptest.Named("missing")}}, c)))
	alive := tables["alive"]
	f := start(t, Config{LookupTables: []venue.Key{tables["ended"], alive}}, c)
	require.Equal(t, without+34-31*len(entries), length(f, alive.String()))
}
