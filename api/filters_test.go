package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// extended gives a mint a Token-2022 extension.
func extended(log *apitest.Log, i int, slot uint64, kind string) {
	event := apitest.Event(apitest.Mint(i), slot)
	event.ProgramId = apitest.Token2022()
	event.Position.InstructionIndex = 5
	event.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: &eventspb.ExtensionSet{Extension: kind}}
	log.Message(schemas.TopicTokenEvents, apitest.Address(apitest.Mint(i)), event, time.Now())
}

// launched says that a mint was launched.
func launched(log *apitest.Log, i int, slot uint64, launchpad string) {
	event := apitest.Event(apitest.Mint(i), slot)
	event.Position.InstructionIndex = 6
	event.Payload = &eventspb.TokenEvent_Launch{Launch: &eventspb.Launch{Launchpad: launchpad, Creator: apitest.Mint(9)}}
	log.Message(schemas.TopicTokenEvents, apitest.Address(apitest.Mint(i)), event, time.Now())
}

func TestFilters(t *testing.T) {
	log, a := threeTokens()
	extended(log, 3, 13, "permanent_delegate")
	launched(log, 2, 11, schemas.LaunchpadPump)
	n := startNode(t, log).awaitReady()
	for query, want := range map[string][]string{
		"launchpad=pump":                           {a[1]},
		"launchpad=meteora_dbc":                    {},
		"launchpad=pump&program=token-2022":        {},
		"program=token":                            {a[0], a[1]},
		"program=token-2022":                       {a[2]},
		"program=" + schemas.ProgramToken:          {a[0], a[1]},
		"program=token-2022&include_token22=false": {},
		"ext=permanent_delegate":                   {a[2]},
		"ext=permanent_delegate,transfer_hook":     {},
		"not_ext=permanent_delegate,transfer_hook": {a[0], a[1]},
		"tag=stable":                               {a[0]},
		"tag=Stable":                               {},
		"min_volume=0":                             {},
		"created_after=1700000010000":              {a[1], a[2]},
		"created_after=1700000010000&q=usdt":       {a[1]},
		"sort=newest":                              {a[2], a[1], a[0]},
		"sort=oldest&limit=2&page=2":               {a[2]},
		"sort=relevance&q=usdt":                    {a[1], a[0]},
	} {
		r := n.get("/tokens?" + query)
		require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", query, r.body)
		conforms(t, "SearchResponse", r.body)
		body := r.decode(t)
		require.Equal(t, want, mints(body), query)
		require.NotContains(t, body, "next_cursor", "walks alone have one")
	}
}

func TestBadFiltersAreNamed(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log).awaitReady()
	for query, want := range map[string]string{
		"program=spl":              `program is "spl": must be token, token-2022 or the address of one of the two programs`,
		"ext=permanent_delegates":  `ext is "permanent_delegates": must be of `,
		"not_ext=":                 `not_ext is "": must be of `,
		"ext=transfer_hook,":       `ext is "": must be of `,
		"launchpad=pump.fun":       `launchpad is "pump.fun": must be meteora_dbc or pump or raydium_launchlab`,
		"tag=":                     `tag is "": must be 1 to 64 bytes of UTF-8`,
		"tag=%ff":                  `tag is `,
		"min_volume=NaN":           `min_volume is "NaN": must be a decimal number of USD, at least 0`,
		"min_volume=-1":            `min_volume is "-1"`,
		"min_volume=1e999":         `min_volume is "1e999"`,
		"min_volume=0x1p4":         `min_volume is "0x1p4"`,
		"created_after=2024-01-01": `created_after is "2024-01-01": must be a time in epoch milliseconds, from 0 to 9223372036854775807`,
		"created_after=-1":         `created_after is "-1"`,
		"sort=best":                `sort is "best": must be relevance, volume, newest, oldest, mint, bought_1h_usd`,
		"cursor=%20":               `cursor is " ": must be the next_cursor of a page, or empty for the first one`,
		"fields=mint,color":        `fields is "color": must be of mint, symbol,`,
		"fields=":                  `fields is "": must be of`,
		"fields=mint&fields=":      `fields is "": must be of`,
		"fields=mint&fields=color": `fields is "color": must be of mint, symbol,`,
		"ext=pausable&ext=x":       `ext is "x": must be of `,
		"explain=1":                `explain is "1": must be true or false`,
		"evidence=":                `evidence is "": must be true or false`,
		"tag=a&tag=b":              `tag is given 2 times: must be given once`,
	} {
		require.Contains(t, n.get("/tokens?"+query).refused(t, 400), want, query)
		if field, _, _ := strings.Cut(query, "="); field != "cursor" && field != "sort" && field != "explain" {
			require.Contains(t, n.get("/tokens/stream?"+query).refused(t, 400), want)
		}
	}
	require.Contains(t, n.get("/tokens/x?fields=match").refused(t, 400), "fields is")
	require.Contains(t, n.get("/tokens/stream?q=x").refused(t, 400), `q is "x": must be absent`)
	require.Contains(t, n.do("POST", "/tokens/batch?fields=x", `{"mints":["x"]}`).refused(t, 400), "fields is")
}

// TestListsHaveSeveralForms: OpenAPI clients send the entries of a list as parameters of its name.
func TestListsHaveSeveralForms(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 10, "ONE", "Token", time.Now())
	n := startNode(t, log).awaitReady()
	body := `{"mints":["` + mint + `"]}`
	for _, fields := range []string{"fields=mint,symbol", "fields=mint&fields=symbol", "fields=symbol&fields=mint", "fields=mint,symbol&fields=symbol", "fields=mint&evidence=false&fields=symbol"} {
		want := map[string]any{"mint": mint, "symbol": "ONE"}
		require.Equal(t, want, n.get("/tokens/"+mint+"?"+fields).decode(t), fields)
		require.Equal(t, []any{want}, n.get("/tokens?" + fields).decode(t)["items"], fields)
		require.Equal(t, []any{want}, n.do("POST", "/tokens/batch?"+fields, body).decode(t)["items"], fields)
	}
	for query, total := range map[string]int{"ext=pausable&ext=transfer_hook": 0, "not_ext=pausable&not_ext=transfer_hook": 1, "ext=pausable&not_ext=transfer_hook": 0} {
		require.EqualValues(t, total, n.get("/tokens?" + query).decode(t)["total"], query)
	}
	n.stream("?fields=mint&fields=symbol&not_ext=pausable&not_ext=transfer_hook")
}

func TestWalkMeetsEveryTokenOnce(t *testing.T) {
	log := apitest.NewLog()
	want := map[string]bool{}
	for i := range 25 {
		want[log.Token(i, uint64(10+i), fmt.Sprint("T", i), "Token", time.Now())] = true
	}
	n := startNode(t, log).awaitReady()
	met, cursor, pages := map[string]bool{}, "", 0
	for {
		body := n.get("/tokens?limit=10&fields=mint&cursor=" + cursor).decode(t)
		require.EqualValues(t, 25, body["total"])
		for _, mint := range mints(body) {
			require.False(t, met[mint], "twice")
			met[mint] = true
		}
		pages++
		if pages == 1 { // what changes and comes meanwhile moves nobody
			log.Message(schemas.TopicTokenEvents, apitest.Address(apitest.Mint(3)), apitest.Named(apitest.Mint(3), 99, "ZZZ", "Renamed"), time.Now())
		}
		if body["next_cursor"] == nil {
			break
		}
		cursor = body["next_cursor"].(string)
	}
	require.Equal(t, want, met)
	require.Equal(t, 3, pages)
	require.Contains(t, n.get("/tokens?sort=mint&q=T1&limit=1").decode(t), "next_cursor", "a search can be walked too")
}

func TestExplainAndFields(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	items := func(query string) []any {
		r := n.get("/tokens?" + query)
		conforms(t, "SearchResponse", r.body)
		return r.decode(t)["items"].([]any)
	}
	match := func(tier string, field any, score float64) map[string]any {
		return map[string]any{"tier": tier, "field": field, "score": score}
	}
	for query, want := range map[string]map[string]any{
		"":           match("all", nil, 0),
		"q=" + a[1]:  match("exact_mint", "mint", 0),
		"q=usdc":     match("exact_symbol", "symbol", 0),
		"q=pyu":      match("symbol_prefix", "symbol", 0),
		"q=paypal":   match("name_prefix", "name", 0),
		"q=pal%20us": match("substring", "name", 0.5),
		"q=usdx":     match("similar", "symbol", 0.75),
	} {
		item := items("explain=true&limit=1&" + query)[0].(map[string]any)
		require.Equal(t, want, item["match"], query)
		require.Contains(t, item, "decimals")
	}
	require.Equal(t, map[string]any{"mint": a[0], "match": match("exact_symbol", "symbol", 0)}, items("q=usdc&fields=match,mint&limit=1")[0])
	require.NotContains(t, items("q=usdc")[0], "match")

	r := n.get("/tokens/" + a[0] + "?fields=symbol,tags,mint")
	require.Equal(t, `{"mint":"`+a[0]+`","symbol":"USDC","tags":["stable"]}`, string(r.body), "in the order of the row")
	r = n.do("POST", "/tokens/batch?fields=symbol", `{"mints":["`+a[1]+`","`+a[0]+`"]}`)
	require.Equal(t, `{"items":[{"symbol":"USDT"},{"symbol":"USDC"}],"unknown":[]}`, string(r.body))
}

func TestEvidenceOnEverySurface(t *testing.T) {
	log, a := threeTokens()
	fake := log.Token(7, 30, "USDС", "USD Coin", time.Now()) // the last letter is Cyrillic
	nameless := log.Token(8, 30, "", "", time.Now())
	n := startNode(t, log).awaitReady()
	want := map[string]any{
		"skeleton": "USDC", "sharing": 2.0, "rank_by_volume": 2.0, "rank_by_age": 2.0, "canonical": a[0],
		"signals": []any{"homoglyph", "copied_name", "mixed_scripts", "mint_authority"},
	}
	r := n.get("/tokens/" + fake + "?evidence=true")
	conforms(t, "Token", r.body)
	require.Equal(t, want, r.decode(t)["evidence"])
	r = n.do("POST", "/tokens/batch?evidence=true&fields=mint", `{"mints":["`+fake+`"]}`)
	conforms(t, "BatchResponse", r.body)
	require.Equal(t, want, r.decode(t)["items"].([]any)[0].(map[string]any)["evidence"])
	r = n.get("/tokens?evidence=true&q=" + fake)
	conforms(t, "SearchResponse", r.body)
	require.Equal(t, want, r.decode(t)["items"].([]any)[0].(map[string]any)["evidence"])
	require.NotContains(t, n.get("/tokens/"+fake).decode(t), "evidence")

	r = n.get("/tokens/" + nameless + "?evidence=true")
	conforms(t, "Token", r.body)
	none := r.decode(t)["evidence"].(map[string]any)
	require.Nil(t, none["skeleton"])
	require.Nil(t, none["canonical"])
	require.Zero(t, none["sharing"])

	// The genuine one changes its name: the other is alone, and then first.
	log.Message(schemas.TopicTokenEvents, a[0], apitest.Named(apitest.Mint(1), 99, "OTHER", "Other"), time.Now())
	require.Eventually(t, func() bool {
		var row struct {
			Evidence struct {
				Sharing int      `json:"sharing"`
				Signals []string `json:"signals"`
			} `json:"evidence"`
		}
		require.NoError(t, json.Unmarshal(n.get("/tokens/"+fake+"?evidence=true").body, &row))
		return row.Evidence.Sharing == 1 && row.Evidence.Signals[0] == "mixed_scripts"
	}, hang, 5*time.Millisecond)
}
