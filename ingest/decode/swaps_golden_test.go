package decode_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// goldenLeg is a leg as the golden files state it.
type goldenLeg struct {
	Outer     int     `json:"outer"`
	Inner     *int    `json:"inner"`
	Venue     string  `json:"venue"`
	Program   string  `json:"program"`
	Pool      string  `json:"pool"`
	VaultIn   string  `json:"vault_in"`
	VaultOut  string  `json:"vault_out"`
	MintIn    string  `json:"mint_in"`
	MintOut   string  `json:"mint_out"`
	AmountIn  string  `json:"amount_in"`
	AmountOut string  `json:"amount_out"`
	UserIn    *string `json:"user_in"`
	UserOut   *string `json:"user_out"`
}

type goldenSwaps struct {
	Signature string      `json:"sig"`
	Legs      []goldenLeg `json:"swap_legs"`
}

// swapDifferences explains, by name, each way in which our legs deliberately differ from the
// goldens.
var swapDifferences = map[string]string{
	"venue raydium_v4":     "our name is raydium_amm_v4, which the design fixes",
	"venue outside":        "the goldens read eight venues; legs of others are ours alone and are checked by their sources",
	"user_in of the curve": "the goldens count all lamports that left the user, rent too; ours is the event's amount with its fees",
}

func (l goldenLeg) text() string {
	inner := "-"
	if l.Inner != nil {
		inner = strconv.Itoa(*l.Inner)
	}
	return fmt.Sprintf("%d/%s %s %s pool %s: %s %s (%s) -> %s %s (%s)", l.Outer, inner, l.Venue, l.Program, l.Pool,
		l.AmountIn, l.MintIn, l.VaultIn, l.AmountOut, l.MintOut, l.VaultOut)
}

func asGolden(leg *eventspb.SwapLeg) goldenLeg {
	g := goldenLeg{
		Outer: int(leg.GetPosition().GetInstructionIndex()), Venue: leg.GetVenue(), Program: base58.Encode(leg.GetProgramId()),
		Pool: base58.Encode(leg.GetPool()), VaultIn: base58.Encode(leg.GetVaultIn()), VaultOut: base58.Encode(leg.GetVaultOut()),
		MintIn: base58.Encode(leg.GetMintIn()), MintOut: base58.Encode(leg.GetMintOut()),
		AmountIn: strconv.FormatUint(leg.GetAmountIn(), 10), AmountOut: strconv.FormatUint(leg.GetAmountOut(), 10),
	}
	if leg.GetPosition().InnerInstructionIndex != nil {
		inner := int(leg.GetPosition().GetInnerInstructionIndex())
		g.Inner = &inner
	}
	if leg.TraderPaid != nil {
		text := strconv.FormatUint(leg.GetTraderPaid(), 10)
		g.UserIn = &text
	}
	if leg.TraderGot != nil {
		text := strconv.FormatUint(leg.GetTraderGot(), 10)
		g.UserOut = &text
	}
	return g
}

func loadGoldenSwaps(t testing.TB, rel string) map[string][]goldenLeg {
	t.Helper()
	var parsed struct {
		Transactions []goldenSwaps `json:"transactions"`
	}
	require.NoError(t, json.Unmarshal(readShared(t, rel), &parsed))
	legs := make(map[string][]goldenLeg)
	for _, tx := range parsed.Transactions {
		legs[tx.Signature] = tx.Legs
	}
	return legs
}

// realTransactions are those of all recorded blocks and files, by the golden file that tells of
// them.
func realTransactions(t testing.TB, name string) []*chain.Block {
	t.Helper()
	switch name {
	case "transactions":
		return load(t, "data/transactions")
	case "332254855":
		return load(t, "data/blocks/332254855.confirmedblock.pb")
	}
	return load(t, "data/blocks/"+name+".json.gz")
}

func TestSwapLegsEqualTheGoldens(t *testing.T) {
	for name, want := range map[string]struct {
		legs int
		used map[string]int
	}{
		"254170887":    {49, map[string]int{"venue raydium_v4": 23, "venue outside": 22}},
		"332254855":    {27, map[string]int{"venue raydium_v4": 4, "venue outside": 5, "user_in of the curve": 3}},
		"361774429":    {114, map[string]int{"venue raydium_v4": 23, "venue outside": 26, "user_in of the curve": 13}},
		"transactions": {30, map[string]int{"venue raydium_v4": 4, "venue outside": 39, "user_in of the curve": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			golden, used := loadGoldenSwaps(t, "data/golden/"+name+".json"), map[string]int{}
			require.Equal(t, want.legs, compareSwaps(t, realTransactions(t, name), golden, used))
			for difference := range used {
				require.Contains(t, swapDifferences, difference)
			}
			require.Equal(t, want.used, used, "no explanation hides more than it was written for")
		})
	}
}

// compareSwaps compares the legs of blocks with a golden. It returns how many there are.
func compareSwaps(t *testing.T, blocks []*chain.Block, golden map[string][]goldenLeg, used map[string]int) (compared int) {
	t.Helper()
	decoder := decode.New(nil)
	for _, block := range blocks {
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			signature := base58.Encode(tx.Signature[:])
			var ours []goldenLeg
			for _, leg := range decoder.Swaps(tx, block.Slot, block.BlockTime).Legs {
				g := asGolden(leg)
				if g.Venue == "raydium_amm_v4" {
					g.Venue = "raydium_v4"
					used["venue raydium_v4"]++
				}
				if !goldenVenue(g.Venue) {
					used["venue outside"]++
					continue
				}
				ours = append(ours, g)
			}
			compared += len(ours)
			compareLegs(t, signature, golden[signature], ours, used)
		}
	}
	return compared
}

func goldenVenue(name string) bool {
	switch name {
	case "raydium_v4", "orca_whirlpool", "meteora_dlmm", "raydium_clmm", "pumpswap", "pump_curve", "raydium_cpmm", "meteora_damm_v2":
		return true
	}
	return false
}

func compareLegs(t *testing.T, signature string, want, got []goldenLeg, used map[string]int) {
	t.Helper()
	var wantText, gotText []string
	for _, l := range want {
		wantText = append(wantText, l.text())
	}
	for _, l := range got {
		gotText = append(gotText, l.text())
	}
	if strings.Join(wantText, "\n") != strings.Join(gotText, "\n") {
		t.Errorf("%s\nwant\n%s\ngot\n%s", signature, strings.Join(wantText, "\n"), strings.Join(gotText, "\n"))
		return
	}
	for i := range want {
		if want[i].Venue == "pump_curve" {
			used["user_in of the curve"]++
			continue
		}
		if a, b := deref(want[i].UserIn), deref(got[i].UserIn); a != b {
			t.Errorf("%s %s: user_in %s, ours %s", signature, want[i].text(), a, b)
		}
		if a, b := deref(want[i].UserOut), deref(got[i].UserOut); a != b {
			t.Errorf("%s %s: user_out %s, ours %s", signature, want[i].text(), a, b)
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
