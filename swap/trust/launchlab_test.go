package trust

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/guard"
	"github.com/mintlake/mintlake/swap/venue/launchlab"
)

// TestASwapOnLaunchLabIsComputedAgain: a sale of April 2026 by way of an aggregator. Its fees leave
// the vault to accounts that the swap names. With another fee it is a mismatch.
func TestASwapOnLaunchLabIsComputedAgain(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, "data/transactions/swap_raydium_launchpad_1.json"))
	require.NoError(t, err)
	var file struct{ Raw json.RawMessage }
	require.NoError(t, json.Unmarshal(raw, &file))
	tx, err := parseAnswer(file.Raw)
	require.NoError(t, err)
	is := func(c Invoked) bool { return tx.Keys[c.Program] == launchlab.Program }
	at := slices.IndexFunc(tx.Calls, is)
	require.GreaterOrEqual(t, at, 0)
	keys := tx.call(tx.Calls[at]).Accounts
	event := tx.Calls[at+1+slices.IndexFunc(tx.Calls[at+1:], is)].Data

	curve := append([]byte{0xf7, 0xed, 0xe3, 0xf5, 0xd7, 0xc3, 0xde, 0x46}, make([]byte, 421)...)
	copy(curve[29:69], event[16+32:])
	for offset, key := range map[int]venue.Key{141: keys[2], 173: keys[3], 205: keys[9], 237: keys[10], 269: keys[7], 301: keys[8]} {
		copy(curve[offset:], key[:])
	}
	config := append([]byte{0x95, 0x08, 0x9c, 0xca, 0xa0, 0xfc, 0xb0, 0xd9}, make([]byte, 363)...)
	binary.LittleEndian.PutUint64(config[27:], 2_500)
	copy(config[83:], keys[10][:])
	site := append([]byte{0xa0, 0x4e, 0x80, 0x00, 0xf8, 0x53, 0xe6, 0xa0}, make([]byte, 936)...)
	binary.LittleEndian.PutUint64(site[104:], 7_500)
	binary.LittleEndian.PutUint64(site[720:], 500)
	lamports := func(key venue.Key) uint64 { return tx.Lamports[before][slices.Index(tx.Keys, key)] }
	chain := swaptest.New()
	chain.Mint(keys[9], mint.Token, 6)
	_, mints, err := chain.GetMultipleAccounts(t.Context(), []venue.Key{keys[9], keys[10]}, solana.AccountOptions{})
	require.NoError(t, err)
	for i, key := range []venue.Key{keys[9], keys[10]} {
		mints[i].Lamports = lamports(key)
	}
	g, err := guard.New(venue.List{launchlab.Venue{}}, guard.Deps{})
	require.NoError(t, err)
	v := g.Venues(nil)[0]
	ref, err := v.Open(keys[4], curve)
	require.NoError(t, err)
	e := &Evidence{Venue: v, Ref: ref, Transaction: tx, Before: map[venue.Key]*solana.Account{
		keys[4]: {Owner: launchlab.Program, Lamports: lamports(keys[4]), Data: curve},
		keys[2]: {Owner: launchlab.Program, Lamports: lamports(keys[2]), Data: config},
		keys[3]: {Owner: launchlab.Program, Lamports: lamports(keys[3]), Data: site},
		keys[9]: mints[0], keys[10]: mints[1],
	}}
	r := e.replay()
	require.Equal(t, matched, r.outcome, r.why)
	require.Equal(t, [2]uint64{20_261_126_631, 3_761_047}, r.chain)
	require.Equal(t, []string{"sale", "creator_fee"}, r.features.Names(v.FeatureNames()))
	binary.LittleEndian.PutUint64(site[104:], 7_501)
	require.Equal(t, mismatched, e.replay().outcome)
}
