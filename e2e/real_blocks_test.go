package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// goldenFile is a file of independent expectations: see its README beside it.
type goldenFile struct {
	Transactions []struct {
		Signature string `json:"sig"`
		Slot      uint64 `json:"slot"`
		Index     *int   `json:"index"`
		Events    []struct {
			Outer int    `json:"outer"`
			Inner *int   `json:"inner"`
			Batch *int   `json:"batch"`
			Kind  string `json:"kind"`
			Mint  string `json:"mint"`
		} `json:"token_events"`
	} `json:"transactions"`
}

// kinds maps a golden kind to token_events.kind.
var kinds = map[string]string{
	"InitializeMint2":                     "initialize_mint",
	"MintTo":                              "mint_to",
	"Burn":                                "burn",
	"SetAuthority":                        "set_authority",
	"MetadataInitialize":                  "metadata_set",
	"MetadataUpdateAuthority":             "metadata_set",
	"Extension:InitializeMetadataPointer": "extension_set",
}

// goldenEvents lists what the goldens of all files expect, as the rows of eventQuery.
func goldenEvents(t *testing.T) []string {
	t.Helper()
	orMinusOne := func(n *int) int {
		if n == nil {
			return -1
		}
		return *n
	}
	var rows []string
	for _, name := range []string{"254170887.json", "332254855.json", "361774429.json", "transactions.json"} {
		raw, err := os.ReadFile(testkit.Shared(t, "data/golden/"+name))
		require.NoError(t, err)
		var golden goldenFile
		require.NoError(t, json.Unmarshal(raw, &golden))
		for _, transaction := range golden.Transactions {
			for _, event := range transaction.Events {
				kind, known := kinds[event.Kind]
				require.True(t, known, "golden kind %s", event.Kind)
				rows = append(rows, fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s", transaction.Slot, orMinusOne(transaction.Index),
					event.Outer, orMinusOne(event.Inner), orMinusOne(event.Batch), transaction.Signature, kind, event.Mint))
			}
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows) // one transaction lies in two files
}

const eventQuery = `SELECT slot, transaction_index, instruction_index, inner_instruction_index, batch_index, signature, kind, mint
FROM mintlake.token_events FORMAT TSV`

// explained are events that the goldens leave out, by kind, each with the reason.
var explained = map[string]string{
	"freeze_account": "the goldens list no freezing of accounts: it changes no mint",
	"thaw_account":   "the goldens list no thawing of accounts: it changes no mint",
	"launch":         "the goldens know no launchpads",
	"graduate":       "the goldens know no launchpads",
}

func TestRealBlocksEqualTheGoldens(t *testing.T) {
	t.Parallel()
	up := launch(t, t.TempDir(), append(sharedSources(t), kafkaFlags(t)...)...)
	s := up.awaitDone()
	require.Equal(t, "file", s.Source.Kind)
	require.Equal(t, 1, s.Source.FailedInputs, "one file of the folder is an account, no transaction")

	var got []string
	for _, row := range up.query(eventQuery) {
		if kind := strings.Split(row, "\t")[6]; explained[kind] == "" {
			got = append(got, row)
		}
	}
	slices.Sort(got)
	require.Equal(t, goldenEvents(t), got)

	const pumpMint = "D7jZzYfXPEM572G9fBBWUqfwmHYLyeUYhAerv6hYpump"
	code, body := up.get("/tokens/" + pumpMint)
	require.Equal(t, http.StatusOK, code, string(body))
	var token map[string]any
	require.NoError(t, json.Unmarshal(body, &token))
	require.Subset(t, token, map[string]any{
		"mint": pumpMint, "symbol": "CHOSEN", "name": "The Chosen Coin", "decimals": 6.0, "is_token22": true,
		"metaplex_uri": "https://metadata.j7tracker.io/metadata/9923786f17534307.json", "supply": "1000000000000000",
	})
	require.Nil(t, token["mint_authority"])
	require.Subset(t, token, map[string]any{"launchpad": "pump", "creator": "5xyaTEAbh7eHoeLmWb9uFgyAry9JfVHrmNszvPgHAnMY", "graduated_at": nil})
	code, body = up.get("/tokens/6XXqLtAwn7oBbhT9m3AeVZE2y77LdzuZSHVtWSEDpump?provenance=true&fields=launchpad,graduated_at")
	require.Equal(t, http.StatusOK, code, string(body))
	require.JSONEq(t, `{"launchpad":null,"graduated_at":1777132595000,"provenance":{"graduated_at":{"source":"instruction","slot":415596520,"instruction":"migrate",
		"signature":"5gp7yztY9njnkyMG9iFW3wD6MVFS9AHsdGuSikaJpKst9vd6hgYswigGbdBojyYFZnxenwuZWk4YMzYLHuVWb6pG"}}}`, originsOf(t, body, "graduated_at"), "its creation was not seen, its graduation was")
	code, body = up.get("/tokens?launchpad=pump&fields=mint,launchpad")
	require.Equal(t, http.StatusOK, code, string(body))
	require.Contains(t, string(body), pumpMint)
	require.Contains(t, string(body), `"total":2`)
	require.Equal(t, []string{"launch\t2", "graduate\t1"}, up.query("SELECT kind, count() FROM mintlake.token_events WHERE kind IN ('launch', 'graduate') GROUP BY kind ORDER BY kind DESC FORMAT TSV"))
	require.Equal(t, []string{"2"}, up.query("SELECT count() FROM mintlake.tokens WHERE launchpad = 'pump' AND isNotNull(creator)"))

	code, body = up.get("/tokens/" + pumpMint + "/history")
	require.Equal(t, http.StatusOK, code, string(body))
	require.Contains(t, string(body), `"initialize_mint"`, "the creation is in the history")

	require.Equal(t, []string{fmt.Sprint(s.Registry.Tokens)}, up.query("SELECT count() FROM mintlake.tokens"), "API and ClickHouse agree")
	require.Zero(t, up.stop(), up.log())
}

// originsOf is a row with the origin of one field alone.
func originsOf(t *testing.T, body []byte, field string) string {
	t.Helper()
	var row map[string]any
	require.NoError(t, json.Unmarshal(body, &row))
	origins, _ := row["provenance"].(map[string]any)
	row["provenance"] = map[string]any{field: origins[field]}
	encoded, err := json.Marshal(row)
	require.NoError(t, err)
	return string(encoded)
}
