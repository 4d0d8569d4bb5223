package decode_test

import (
	"fmt"
	"math/bits"
	"os"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/swap"
	"github.com/mintlake/mintlake/ingest/decode/venues"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	byTransfers = uint32(eventspb.LegSource_LEG_SOURCE_TRANSFERS)
	byEvent     = uint32(eventspb.LegSource_LEG_SOURCE_EVENT)
	byLog       = uint32(eventspb.LegSource_LEG_SOURCE_LOG)
	byBalances  = uint32(eventspb.LegSource_LEG_SOURCE_BALANCES)
)

var realNames = []string{"254170887", "332254855", "361774429", "transactions"}

// swapped is a recorded transaction and what it swaps.
type swapped struct {
	block *chain.Block
	tx    *chain.Transaction
	swap.Result
}

// realSwaps are the swaps of all recorded blocks and transactions, by signature.
func realSwaps(t testing.TB) map[string]swapped {
	t.Helper()
	decoder, all := decode.New(nil), make(map[string]swapped)
	for _, name := range realNames {
		for _, block := range realTransactions(t, name) {
			for i := range block.Transactions {
				tx := &block.Transactions[i]
				all[base58.Encode(tx.Signature[:])] = swapped{block, tx, decoder.Swaps(tx, block.Slot, block.BlockTime)}
			}
		}
	}
	return all
}

// Of venues that tell events at least 99.5 % of the legs have two sources that agree, and over the
// data at hand no source disagrees at all.
func TestLegsCarryTwoAgreeingSources(t *testing.T) {
	tells := make(map[string]bool)
	for _, v := range venues.All() {
		tells[v.Name] = v.Events != swap.NoEvents
	}
	legs, agreeing, told := 0, 0, 0
	for signature, s := range realSwaps(t) {
		for _, leg := range s.Legs {
			require.Zero(t, leg.GetDisagreed(), "%s %s", signature, asGolden(leg).text())
			if !tells[leg.GetVenue()] {
				require.Equal(t, byTransfers|byBalances, leg.GetAgreed(), "%s %s", signature, asGolden(leg).text())
				continue
			}
			legs++
			if bits.OnesCount32(leg.GetAgreed()) >= 2 {
				agreeing++
			}
			if leg.GetAgreed()&(byEvent|byLog) != 0 {
				told++
			}
		}
	}
	t.Logf("%d legs of venues with events: %d with two agreeing sources, %d of them with the event or log", legs, agreeing, told)
	require.NotZero(t, legs)
	require.GreaterOrEqual(t, float64(agreeing)/float64(legs), 0.995)
}

// Each venue has real legs here, or is one of those whose layout is another one's or is published,
// and that the data does not hold.
func TestEveryVenueHasRealLegs(t *testing.T) {
	absent := map[string]string{
		"orca_whirlpool_immutable": "the same program as orca_whirlpool, deployed without an upgrade authority",
	}
	seen := make(map[string]int)
	for _, s := range realSwaps(t) {
		for _, leg := range s.Legs {
			seen[leg.GetVenue()]++
		}
	}
	for _, v := range venues.All() {
		if why, ok := absent[v.Name]; ok {
			require.Zero(t, seen[v.Name], "%s has legs: take it from the list (%s)", v.Name, why)
			continue
		}
		require.NotZero(t, seen[v.Name], "%s has neither legs nor a reason", v.Name)
	}
	t.Log(seen)
}

// The tables hold what the walk relies on: each program once, names that can be labels, tags of one
// byte or eight, places.
func TestTablesOfVenues(t *testing.T) {
	programs, names := make(map[string]bool), make(map[string]bool)
	entry := func(name, program string) {
		require.Regexp(t, `^[a-z0-9_]+$`, name)
		require.False(t, names[name], name)
		require.False(t, programs[program], program)
		require.NotEqual(t, pubkey.Key{}, key(t, program))
		names[name], programs[program] = true, true
	}
	for _, v := range venues.All() {
		entry(v.Name, v.Program)
		require.Equal(t, v.Events == swap.NoEvents, v.Event == nil, v.Name)
		for _, ins := range v.Instructions {
			what := fmt.Sprintf("%s %s", v.Name, ins.Name)
			require.NotEmpty(t, ins.Name, what)
			require.Contains(t, []int{0, 1, 8}, len(ins.Tag), what)
			require.True(t, len(ins.Tag) > 0 || v.Name == "humidifi", what)
			require.True(t, len(ins.Shapes) > 0 || ins.Find != nil || ins.ByEvent, what)
			require.Less(t, ins.LPMint, ins.MinAccounts, what)
			require.True(t, ins.Kind == swap.Swap || ins.Kind == swap.Create || ins.Find == nil && !ins.ByEvent, what)
			for _, s := range ins.Shapes {
				for _, place := range []int{s.Pool, s.VaultA, s.VaultB, s.Owner, s.MintA, s.MintB} {
					require.Less(t, place, ins.MinAccounts, what)
				}
				require.NotEqual(t, swap.None, s.Pool, what)
			}
		}
	}
	for _, a := range decode.Aggregators() {
		entry(a.Name, a.Program)
	}
}

// docs/swaps.md names every venue with its program, and every aggregator.
func TestVenuesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/swaps.md")
	require.NoError(t, err)
	for _, v := range venues.All() {
		require.Contains(t, string(text), "`"+v.Name+"`")
		require.Contains(t, string(text), v.Program, v.Name)
	}
	for _, a := range decode.Aggregators() {
		require.Contains(t, string(text), "`"+a.Name+"`")
	}
}
