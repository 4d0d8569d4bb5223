package decode_test

import (
	"encoding/json"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Each test here holds one of the cases that go wrong elsewhere, from real data.

func TestFailedTransactionsSwapNothing(t *testing.T) {
	var golden struct {
		Summary struct {
			Failed []string `json:"failed_signatures"`
		} `json:"summary"`
	}
	require.NoError(t, json.Unmarshal(readShared(t, "data/golden/361774429.json"), &golden))
	require.Greater(t, len(golden.Summary.Failed), 100)
	all := realSwaps(t)
	for _, signature := range golden.Summary.Failed {
		s, ok := all[signature]
		require.True(t, ok, signature)
		require.True(t, s.tx.Failed)
		require.Empty(t, s.Legs)
		require.Empty(t, s.Routes)
		require.Empty(t, s.Pools)
	}
	// And a transaction that swaps would swap nothing had it failed, or were it a vote.
	for _, s := range all {
		if len(s.Legs) == 0 {
			continue
		}
		failed, vote := *s.tx, *s.tx
		failed.Failed, vote.Vote = true, true
		require.Empty(t, decode.New(nil).Swaps(&failed, 1, 1))
		require.Empty(t, decode.New(nil).Swaps(&vote, 1, 1))
		return
	}
	require.Fail(t, "no transaction swaps")
}

// A route's events tell each hop again. They are a route, and the legs stay one each, with the very
// amounts of the events.
func TestAggregatorEventsAreRoutesAndNoLegs(t *testing.T) {
	routes, compared, venues := 0, 0, make(map[string]int)
	for signature, s := range realSwaps(t) {
		for _, route := range s.Routes {
			var inside []*eventspb.SwapLeg
			for _, leg := range s.Legs {
				if leg.GetPosition().GetInstructionIndex() == route.GetPosition().GetInstructionIndex() {
					inside = append(inside, leg)
				}
			}
			if route.GetPosition().InnerInstructionIndex == nil {
				require.Len(t, inside, int(route.GetLegs()), signature)
			}
			if len(route.GetHops()) == 0 || len(route.GetHops()) != len(inside) {
				continue // hops over venues that are not read
			}
			routes++
			for i, hop := range route.GetHops() {
				require.Equal(t, hop.GetMintIn(), inside[i].GetMintIn(), signature)
				require.Equal(t, hop.GetMintOut(), inside[i].GetMintOut(), signature)
				venues[inside[i].GetVenue()]++
				if inside[i].TraderGot != nil {
					require.Equal(t, hop.GetAmountOut(), inside[i].GetTraderGot(), signature)
					compared++
				}
				require.Equal(t, route.GetAggregator(), inside[i].GetAggregator())
			}
		}
	}
	t.Log(routes, "routes with all hops read,", compared, "hops equal to the legs", venues)
	// The layouts that nobody publishes are told to be right here: direction, mints and what the
	// trader got are the aggregator's.
	for _, venue := range []string{"alphaq", "bisonfi", "goonfi_v2", "humidifi", "scorch", "solfi", "solfi_v2", "tessera", "zerofi"} {
		require.NotZero(t, venues[venue], venue)
	}
	require.Greater(t, routes, 50)
	require.Greater(t, compared, 100)
}

// A pool that is used twice in one transaction has two legs with their own amounts, at positions of
// their own; its vaults' balances alone would merge them.
func TestTwoSwapsOfOnePoolInOneTransaction(t *testing.T) {
	golden := loadGoldenSwaps(t, "data/golden/361774429.json")
	const signature = "26aTdEFT8SuivSEeKxRCCC3LHhgDPmxyaCGZHCMzH9XkUAi9c7vXrKdUeeD1J1XXtmBjbcd7v6AbosmGaEvqKnqj"
	legs := realSwaps(t)[signature].Legs
	require.Len(t, legs, 2)
	require.Len(t, golden[signature], 2)
	require.Equal(t, legs[0].GetPool(), legs[1].GetPool())
	first, second := schemas.PositionOf(legs[0].GetPosition(), nil), schemas.PositionOf(legs[1].GetPosition(), nil)
	require.Negative(t, first.Compare(second))
	for i, leg := range legs {
		require.Equal(t, golden[signature][i].AmountIn, asGolden(leg).AmountIn)
		require.Equal(t, golden[signature][i].AmountOut, asGolden(leg).AmountOut)
		require.NotZero(t, leg.GetAgreed()&byBalances, "the sum of both explains the balances")
	}
	// The reserves are those behind each leg: the second's follow from the first's.
	reserves := func(leg *eventspb.SwapLeg) map[string]uint64 {
		return map[string]uint64{string(leg.GetVaultIn()): leg.GetReserveIn(), string(leg.GetVaultOut()): leg.GetReserveOut()}
	}
	before, after := reserves(legs[0]), reserves(legs[1])
	require.Equal(t, after[string(legs[1].GetVaultIn())], before[string(legs[1].GetVaultIn())]+legs[1].GetAmountIn())
	require.Equal(t, after[string(legs[1].GetVaultOut())], before[string(legs[1].GetVaultOut())]-legs[1].GetAmountOut())
}

// No two legs share a position, over all data.
func TestPositionsAreUnique(t *testing.T) {
	seen := make(map[schemas.Position]string)
	for signature, s := range realSwaps(t) {
		for _, leg := range s.Legs {
			p := schemas.PositionOf(leg.GetPosition(), leg.GetSignature())
			require.Empty(t, seen[p], signature)
			seen[p] = signature
		}
	}
	require.Greater(t, len(seen), 280)
}

// Programs that call themselves with their event are read from there, and the log is not needed.
func TestSelfCallsNeedNoLog(t *testing.T) {
	selfCalling := map[string]bool{"pumpswap": true, "pump_curve": true, "meteora_dlmm": true, "meteora_damm_v2": true, "meteora_dbc": true, "raydium_launchlab": true}
	found, decoder := make(map[string]int), decode.New(nil)
	for signature, s := range realSwaps(t) {
		mute := *s.tx
		mute.Details = nil
		for i, leg := range decoder.Swaps(&mute, s.block.Slot, s.block.BlockTime).Legs {
			require.Equal(t, asGolden(s.Legs[i]).text(), asGolden(leg).text(), "amounts do not hang on the log")
			if selfCalling[leg.GetVenue()] {
				require.NotZero(t, leg.GetAgreed()&byEvent, signature)
				found[leg.GetVenue()]++
			} else {
				require.Zero(t, leg.GetAgreed()&(byEvent|byLog), signature)
			}
		}
	}
	require.Len(t, found, len(selfCalling))
}

// Pools and vaults that stand in lookup tables are found like all others.
func TestLookupTables(t *testing.T) {
	var file struct {
		Raw struct {
			Meta struct {
				Loaded struct {
					Writable []string `json:"writable"`
				} `json:"loadedAddresses"`
			} `json:"meta"`
		} `json:"raw"`
	}
	require.NoError(t, json.Unmarshal(readShared(t, "data/transactions/jupiter_route_with_ata_3.json"), &file))
	loaded := make(map[string]bool)
	for _, address := range file.Raw.Meta.Loaded.Writable {
		loaded[address] = true
	}
	found := 0
	for _, block := range load(t, "data/transactions/jupiter_route_with_ata_3.json") {
		for _, leg := range decode.New(nil).Swaps(&block.Transactions[0], block.Slot, block.BlockTime).Legs {
			if loaded[base58.Encode(leg.GetVaultIn())] && loaded[base58.Encode(leg.GetVaultOut())] {
				found++
			}
		}
	}
	require.NotZero(t, found)
}

// Wrapping and unwrapping SOL around a swap is no leg, and what the trader paid is what the wrapped
// account paid.
func TestWrapAndUnwrap(t *testing.T) {
	const signature = "5tzd7HGtix1q6BBBfYoVmNLpxSfTM6FCd2rzij6ZTyxwYXF8svgDb8KUcYeafBahfXhRjv3z8ytksb1jvQgHRsCi"
	s := realSwaps(t)[signature]
	token, syncs, closes := key(t, schemas.ProgramToken), 0, 0
	for _, ins := range s.tx.Instructions {
		if program, _ := s.tx.Program(&ins.Call); program == token {
			switch ins.Data[0] {
			case 17: // SyncNative
				syncs++
			case 9: // CloseAccount
				closes++
			}
		}
	}
	require.NotZero(t, syncs)
	require.NotZero(t, closes)
	want := loadGoldenSwaps(t, "data/golden/332254855.json")[signature]
	require.Len(t, s.Legs, len(want))
	require.Equal(t, want[0].text(), asGolden(s.Legs[0]).text())
	require.Equal(t, deref(want[0].UserIn), deref(asGolden(s.Legs[0]).UserIn))
	require.Equal(t, schemas.MintWrappedSOL, base58.Encode(s.Legs[0].GetMintIn()))
	require.EqualValues(t, 9, s.Legs[0].GetDecimalsIn())
}

// A Token-2022 fee that only the balances show is taken from what came in: the leg says what the
// vault received, and what was paid.
func TestTokenFeeThatOnlyBalancesShow(t *testing.T) {
	const signature = "2DAFiTzYzLaqBPm7Dbocg4oKbh6YUwqvMB3zwszTNqUbU7EzFuf9vVpGQSJasPCgNGmbsykK3nU7ouYg9C3FMsJb"
	legs := realSwaps(t)[signature].Legs
	require.Len(t, legs, 1)
	require.EqualValues(t, 23335872251680, legs[0].GetAmountIn())
	require.EqualValues(t, 24139725097425, legs[0].GetTraderPaid())
	require.EqualValues(t, 5667226, legs[0].GetAmountOut())
	require.Zero(t, legs[0].GetAgreed()&byTransfers, "the transfer does not say the fee")
	require.Equal(t, byLog|byBalances, legs[0].GetAgreed())
}

// An aggregator's account that swaps for the user is not the trader.
func TestTraderBehindSharedAccounts(t *testing.T) {
	found := 0
	for signature, s := range realSwaps(t) {
		for _, leg := range s.Legs {
			signed := false
			for _, signer := range s.tx.Keys[:s.tx.Signers] {
				signed = signed || pubkey.Key(leg.GetTrader()) == signer
			}
			require.True(t, signed, signature)
			if len(leg.GetAuthority()) > 0 {
				require.NotEqual(t, leg.GetTrader(), leg.GetAuthority())
				found++
			}
		}
	}
	require.NotZero(t, found)
}

// The recorded files hold the creation of three pools.
func TestCreatedPools(t *testing.T) {
	venues := make(map[string]int)
	for _, s := range realSwaps(t) {
		for _, pool := range s.Pools {
			venues[pool.GetVenue()]++
			require.True(t, pool.GetCreated())
			require.Len(t, pool.GetMintA(), 32)
			require.Len(t, pool.GetMintB(), 32)
			require.Len(t, pool.GetVaultA(), 32)
			require.Len(t, pool.GetVaultB(), 32)
			require.Len(t, pool.GetCreator(), 32)
			require.Less(t, string(pool.GetMintA()), string(pool.GetMintB()))
		}
	}
	require.Equal(t, map[string]int{"pump_curve": 2, "pumpswap": 1}, venues)
}
