package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// three tokens: USDC and USDT, and one of Token-2022.
func threeTokens() (*apitest.Log, []string) {
	log := apitest.NewLog()
	addresses := []string{
		log.Token(1, 10, "USDC", "USD Coin", time.Now()), log.Token(2, 11, "USDT", "Tether USD", time.Now()), log.Token(3, 12, "PYUSD", "PayPal USD", time.Now()),
	}
	event := apitest.Created(apitest.Mint(3), 13)
	event.ProgramId = apitest.Token2022()
	log.Message(schemas.TopicTokenEvents, addresses[2], event, time.Now())
	log.Message(schemas.TopicEnrichments, addresses[0], &eventspb.Enrichment{Mint: apitest.Mint(1), Slot: 20, Fact: &eventspb.Enrichment_Offchain{
		Offchain: &eventspb.OffchainMetadata{
			Uri: []byte("https://example.org/x.json"), Description: "a <dollar>", Image: "https://example.org/x.png", ExternalUrl: "https://example.org",
			Extensions: map[string]string{"twitter": "https://x.example"}, Tags: []string{"stable"},
		},
	}}, time.Now())
	return log, addresses
}

func TestSearch(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	for query, want := range map[string][]string{
		"":                               {a[0], a[1], a[2]},
		"?q=":                            {a[0], a[1], a[2]},
		"?q=usdc":                        {a[0], a[1]},
		"?q=%20UsDt%20":                  {a[1], a[0]},
		"?q=usd":                         {a[0], a[1], a[2]},
		"?q=usd&include_token22=false":   {a[0], a[1]},
		"?q=" + a[2]:                     {a[2]},
		"?q=pay+pal":                     {a[2]},
		"?limit=2":                       {a[0], a[1]},
		"?limit=2&page=2":                {a[2]},
		"?limit=200&page=3":              {},
		"?page=9223372036854775807":      {},
		"?q=nothing%20like%20it":         {},
		"?q=%ff%00&unknown_parameter=1":  {},
		"?include_token22=true&limit=01": {a[0]},
	} {
		r := n.get("/tokens" + query)
		require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", query, r.body)
		require.Equal(t, "application/json", r.Header.Get("Content-Type"))
		conforms(t, "SearchResponse", r.body)
		require.Equal(t, want, mints(r.decode(t)), query)
	}
	body := n.get("/tokens?limit=2&page=2").decode(t)
	require.EqualValues(t, 2, body["page"])
	require.EqualValues(t, 2, body["limit"])
	require.EqualValues(t, 3, body["total"])
}

func TestSearchRefusesBadParameters(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	for query, want := range map[string]string{
		"limit=0":                  `limit is "0": must be a whole number from 1 to 200`,
		"limit=201":                `limit is "201": must be a whole number from 1 to 200`,
		"limit=ten":                `limit is "ten": must be a whole number from 1 to 200`,
		"limit=":                   `limit is "": must be a whole number from 1 to 200`,
		"limit=1.5":                `limit is "1.5": must be a whole number from 1 to 200`,
		"page=0":                   `page is "0": must be a whole number from 1 to 9223372036854775807`,
		"page=-1":                  `page is "-1": must be a whole number from 1 to 9223372036854775807`,
		"page=9223372036854775808": `page is "9223372036854775808": must be a whole number from 1 to 9223372036854775807`,
		"include_token22=yes":      `include_token22 is "yes": must be true or false`,
		"limit=1&limit=2":          `limit is given 2 times: must be given once`,
	} {
		require.Equal(t, want, n.get("/tokens?"+query).refused(t, 400))
	}
}

func TestLookup(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	r := n.get("/tokens/" + a[0])
	require.Equal(t, 200, r.StatusCode)
	conforms(t, "Token", r.body)
	require.JSONEq(t, `{"mint": "`+a[0]+`", "symbol": "USDC", "name": "USD Coin", "decimals": 6, "logo_url": "https://example.org/x.png",
		"logo_status": "unchecked", "is_token22": false, "daily_volume_usd": null, "first_seen_at": 1700000010000, "last_seen_at": 1700000010000,
		"supply": "0", "mint_authority": "`+a[0]+`", "freeze_authority": null, "metaplex_uri": "https://example.org/x.json", "update_authority": null,
		"seller_fee_basis_points": null, "token_standard": null, "description": "a <dollar>", "external_url": "https://example.org",
		"extensions": {"twitter": "https://x.example"}, "tags": ["stable"],
		"launchpad": null, "creator": null, "graduated_at": null}`, string(r.body))
	require.Equal(t, true, n.get("/tokens/" + a[2]).decode(t)["is_token22"])

	unknown := apitest.Address(apitest.Mint(99))
	for _, mint := range []string{unknown, "x", strings.ToLower(a[0]), strings.Repeat("1", 5_000), "%00", "a%20b"} {
		require.Contains(t, n.get("/tokens/"+mint).refused(t, 404), "is not in the registry")
	}
	n.stop() // writes what still waits
	require.Empty(t, log.Records(schemas.TopicEnrichmentRequests), "a lookup queues nothing")
}

func TestBatch(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	unknown, other := apitest.Address(apitest.Mint(98)), apitest.Address(apitest.Mint(99))
	asked, err := json.Marshal(map[string]any{"mints": []string{other, a[2], "not base58!", a[0], unknown, a[2], "not base58!", "", other}, "extra": 1})
	require.NoError(t, err)
	r := n.do(http.MethodPost, "/tokens/batch", string(asked))
	require.Equal(t, 200, r.StatusCode, string(r.body))
	conforms(t, "BatchResponse", r.body)
	body := r.decode(t)
	require.Equal(t, []string{a[2], a[0]}, mints(body), "in the order asked, once")
	require.Equal(t, []any{other, "not base58!", unknown, ""}, body["unknown"])

	var queued []string
	require.Eventually(t, func() bool {
		queued = nil
		for _, record := range log.Records(schemas.TopicEnrichmentRequests) {
			queued = append(queued, string(record.Key))
		}
		return len(queued) == 3
	}, hang, time.Millisecond)
	require.ElementsMatch(t, []string{other, unknown, a[2]}, queued, "also the known one whose document is lacking")

	r = n.do(http.MethodPost, "/tokens/batch", `{"mints": ["`+a[0]+`"]}`, "Content-Type", "text/plain")
	require.Equal(t, []any{}, r.decode(t)["unknown"], "an empty list, not null")
}

func batchOf(count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = apitest.Address(apitest.Mint(i))
	}
	encoded, _ := json.MarshalIndent(map[string]any{"mints": list}, "", "        ")
	return string(encoded)
}

func TestBatchRefusesBadBodies(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	for body, want := range map[string]string{
		"":                         "body is empty",
		"  ":                       "body is empty",
		"{":                        `body is "{": must be a JSON object`,
		"[]":                       "body is \"[]\"",
		"null":                     "body is \"null\"",
		`{"mints": ["x"]} trailer`: "must be a JSON object",
		`{}`:                       "mints is absent: must be an array of 1 to 500 strings",
		`{"Mints": ["x"]}`:         "mints is absent",
		`{"mints": null}`:          "mints is null: must be an array",
		`{"mints": "x"}`:           `mints is "x": must be an array`,
		`{"mints": []}`:            "mints is an array of 0 items: must have 1 to 500",
		`{"mints": ["x", 7]}`:      "mints[1] is 7: must be a string",
		`{"mints": [null]}`:        "mints[0] is null: must be a string",
		batchOf(501):               "mints is an array of 501 items: must have 1 to 500",
		batchOf(1_500):             "mints is an array of 1500 items: must have 1 to 500",
	} {
		require.Contains(t, n.do(http.MethodPost, "/tokens/batch", body).refused(t, 400), want)
	}
	require.Equal(t, 200, n.do(http.MethodPost, "/tokens/batch", batchOf(500)).StatusCode)
	require.Equal(t, "the body is larger than 131072 bytes", n.do(http.MethodPost, "/tokens/batch", strings.Repeat(" ", 200_000)).refused(t, 413))
	require.Equal(t, "the body is larger than 131072 bytes", n.do(http.MethodPost, "/tokens/batch", strings.Repeat(" ", 5_000_000)).refused(t, 413))
}

func TestImageIsAlwaysAnImage(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	unknown := apitest.Address(apitest.Mint(99))
	for _, mint := range []string{a[0], unknown, "nonsense", "%00", strings.Repeat("x", 3_000)} {
		r := n.get("/img/" + mint)
		require.Equal(t, 200, r.StatusCode)
		require.Equal(t, "image/svg+xml", r.Header.Get("Content-Type"))
		require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
		require.Contains(t, r.Header.Get("Content-Security-Policy"), "sandbox")
		require.Contains(t, string(r.body), "<title>Unknown</title>")
	}
	require.Eventually(t, func() bool { return len(log.Records(schemas.TopicEnrichmentRequests)) > 0 }, hang, time.Millisecond)
	records := log.Records(schemas.TopicEnrichmentRequests)
	require.Len(t, records, 1)
	require.Equal(t, unknown, string(records[0].Key))
}
