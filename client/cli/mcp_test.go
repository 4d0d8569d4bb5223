package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/internal/testkit"
)

const pool = "7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny"

// cannedMarket answers what canned does, and what only tools for models ask for.
func cannedMarket(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, body := range map[string]string{
		"GET /tokens/{mint}/pools":             `{"mint":"` + usdc + `","pools":[{"pool":"` + pool + `","venue":"raydium_cpmm","mint_a":"` + sol + `","mint_b":"` + usdc + `","reserve_a":"5","reserve_b":"6","created_at":null,"daily_volume_usd":1,"trades":2,"lp_mint":null}]}`,
		"GET /tokens/{mint}/accounts":          `{"mint":"` + usdc + `","items":[{"account":"a","owner":"` + wallet + `","amount":"77","is_frozen":false,"delegate":null,"delegated_amount":null}],"complete":true}`,
		"GET /tokens/{mint}/holders/history":   `{"mint":"` + usdc + `","points":[{"time":1790000000,"holders":4321}]}`,
		"GET /tokens/{mint}/liquidity/history": `{"mint":"` + usdc + `","points":[{"time":1790000000,"liquidity_usd":12.5,"pools":2}]}`,
		"GET /tokens/{mint}/transfers":         `{"mint":"` + usdc + `","items":[{"kind":"burn","amount":"9"}],"next":null}`,
		"GET /owners/{owner}/accounts":         `{"owner":"` + wallet + `","items":[{"mint":"` + usdc + `","account":"a","amount":"88"}],"next":null}`,
		"GET /pools/{pool}/liquidity":          `{"pool":"` + pool + `","lp_mint":null,"changes":[{"id":"1","kind":"add","amount_a":"55","instruction":"deposit"}],"next":null}`,
		"GET /pools/{pool}/liquidity/history":  `{"pool":"` + pool + `","points":[{"time":1790000000,"mint_a":"a","mint_b":"b","reserve_a":"111","reserve_b":"222"}]}`,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		})
	}
	mux.HandleFunc("GET /tokens/"+impostor+"/holders", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"statusCode":404,"error":"Not Found","message":"balances are not kept"}`)
	})
	mux.Handle("/", canned(t).Config.Handler)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// The official client drives the command over its standard input and output.
func TestMCPAnswersTheOfficialClient(t *testing.T) {
	node := cannedMarket(t)
	session, end := drive(t, "--url", node.URL, "--swap-url", node.URL)
	cases := map[string]struct {
		args map[string]any
		want string
	}{
		"search_tokens":          {map[string]any{"query": "usdc", "limit": 5}, impostor},
		"get_token":              {map[string]any{"mint": usdc}, "9876543210123456"},
		"get_tokens":             {map[string]any{"mints": []string{usdc, impostor}}, "no_mint_there"},
		"token_history":          {map[string]any{"mint": usdc}, "initialize_mint"},
		"token_ohlcv":            {map[string]any{"mint": usdc, "interval": "1h"}, "volume_usd"},
		"token_trades":           {map[string]any{"mint": usdc, "side": "sell", "min_value": 5}, "raydium_cpmm"},
		"token_pools":            {map[string]any{"mint": usdc}, `"reserve_b":"6"`},
		"token_holders":          {map[string]any{"mint": usdc, "exclude": []string{"pool", "burn"}}, "share_pct"},
		"holders_over_time":      {map[string]any{"mint": usdc}, "4321"},
		"token_accounts":         {map[string]any{"mint": usdc}, `"amount":"77"`},
		"token_transfers":        {map[string]any{"owner": wallet, "direction": "in"}, "from_owner"},
		"owner_tokens":           {map[string]any{"owner": wallet}, "value_usd"},
		"owner_accounts":         {map[string]any{"owner": wallet, "mint": "SOL"}, `"amount":"88"`},
		"liquidity_over_time":    {map[string]any{"pool": pool}, `"reserve_b":"222"`},
		"pool_liquidity_changes": {map[string]any{"pool": pool}, `"amount_a":"55"`},
		"quote_swap":             {map[string]any{"sell": sol, "buy": usdc, "amount": "1500000000"}, "224683081"},
		"coverage":               {map[string]any{"mint": usdc}, `"balances":{"as_of_slot":400000123,"complete":true`},
		"registry_status":        {nil, "complete_to_slot"},
	}
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "mcp.md"))
	require.NoError(t, err)
	for _, tool := range tools.Tools {
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
		require.Contains(t, cases, tool.Name)
		require.Contains(t, string(page), "`"+tool.Name+"`", "docs/mcp.md")
	}
	require.Len(t, tools.Tools, len(cases))
	for name, c := range cases {
		texts, failed := callTool(t, session, name, c.args)
		require.False(t, failed, "%s: %s", name, texts)
		require.Contains(t, texts[0], c.want, name)
		require.True(t, json.Valid([]byte(texts[0])), name)
	}
	texts, _ := callTool(t, session, "get_token", map[string]any{"mint": usdc})
	require.Contains(t, texts[0], `"price_usd":0.99987`)
	require.Contains(t, texts[0], `"list":"Curated"`)
	require.NotContains(t, texts[0], "signer", "proofs are in the resource")
	texts, _ = callTool(t, session, "search_tokens", map[string]any{"sort": "buyers_1h", "min": []string{"traders_24h:25", "volume_1h_usd:1000"}, "max": []string{"price_change_24h:5"}})
	require.Contains(t, texts[0], usdc)
	texts, _ = callTool(t, session, "liquidity_over_time", map[string]any{"mint": usdc})
	require.Contains(t, texts[0], `"liquidity_usd":12.5`)
	texts, failed := callTool(t, session, "coverage", map[string]any{"mint": impostor})
	require.False(t, failed, texts)
	require.Contains(t, texts[0], `"unknown":"balances are not kept"`)
	texts, _ = callTool(t, session, "token_transfers", map[string]any{"mint": usdc})
	require.Contains(t, texts[0], `"kind":"burn"`)
	for name, args := range map[string]map[string]any{
		"liquidity_over_time": {"mint": usdc, "pool": pool}, "token_transfers": {}, "quote_swap": {"sell": sol, "buy": usdc}, "get_tokens": {"mints": []string{}}, "get_token": {"mint": "nothing"},
	} {
		texts, failed := callTool(t, session, name, args)
		require.True(t, failed, "%s: %s", name, texts)
	}
	require.NoError(t, end())
}

// callTool returns the texts of a tool's answer.
func callTool(t *testing.T, session *mcp.ClientSession, name string, args map[string]any) (texts []string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err, name)
	for _, content := range result.Content {
		if text, is := content.(*mcp.TextContent); is {
			texts = append(texts, text.Text)
		}
	}
	return texts, result.IsError
}

func TestMCPTakesASymbolOfOneToken(t *testing.T) {
	node := cannedMarket(t)
	session, end := drive(t, "--url", node.URL, "--swap-url", node.URL)
	texts, failed := callTool(t, session, "quote_swap", map[string]any{"sell": "sol", "buy": usdc, "whole_amount": "1.5"})
	require.False(t, failed, texts)
	require.Contains(t, texts[0], "224683081")
	require.Equal(t, []string{`{"symbol":"sol","taken_for":"` + sol + `","look_alikes":[]}`, `{"sell":"1.5 SOL","buy":"224.683081 USDC","at_least":"223.559665 USDC"}`}, texts[1:])
	texts, failed = callTool(t, session, "token_holders", map[string]any{"mint": "nothing"})
	require.True(t, failed)
	require.Contains(t, texts[0], `no token has the symbol or mint "nothing"`)
	require.NoError(t, end())
}

// Two tokens have the symbol: neither is taken, and what tells them apart is told.
func TestMCPNeverGuesses(t *testing.T) {
	node := cannedMarket(t)
	session, end := drive(t, "--url", node.URL, "--swap-url", node.URL)
	for name, args := range map[string]map[string]any{
		"get_token": {"mint": "USDC"}, "token_trades": {"mint": "usdc"}, "coverage": {"mint": "USDC"}, "quote_swap": {"sell": "SOL", "buy": "USDC", "whole_amount": "1"},
	} {
		texts, failed := callTool(t, session, name, args)
		require.True(t, failed, name)
		require.Len(t, texts, 1)
		var told struct {
			Ambiguous  string
			Candidates []map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(texts[0]), &told))
		require.Len(t, told.Candidates, 2)
		require.Equal(t, usdc, told.Candidates[0]["mint"])
		require.Equal(t, 1234567890.5, told.Candidates[0]["daily_volume_usd"])
		require.Equal(t, []any{"verified"}, told.Candidates[0]["tags"])
		require.EqualValues(t, 1, told.Candidates[0]["rank_by_volume"])
		require.Equal(t, impostor, told.Candidates[1]["mint"])
		require.Equal(t, "pump", told.Candidates[1]["launchpad"])
		require.NotContains(t, texts[0], "\u202e")
	}
	texts, failed := callTool(t, session, "get_tokens", map[string]any{"mints": []string{sol, "USDC"}})
	require.False(t, failed, "the others are told all the same")
	require.Contains(t, texts[1], `"ambiguous":"USDC"`)
	require.NoError(t, end())
}

// A token whose symbol nobody else has is taken, and tokens that look like it are named. The symbol
// of an imitation is not taken.
func TestMCPNamesLookAlikes(t *testing.T) {
	const cyrillic = "USD\u0421"
	url := serving(t, "GET /tokens", func(w http.ResponseWriter, r *http.Request) {
		row := func(mint, symbol, tier string, rank int) string {
			return fmt.Sprintf(`{"mint":%q,"symbol":%q,"name":"n","match":{"tier":%q,"field":"symbol","score":0},"evidence":{"skeleton":"usdc","sharing":12,"rank_by_volume":%d,"rank_by_age":1,"canonical":%q,"signals":[]}}`, mint, symbol, tier, rank, usdc)
		}
		rows := row(usdc, "USDC", "exact_symbol", 1) + "," + row(impostor, cyrillic, "similar", 2)
		if r.URL.Query().Get("q") == cyrillic {
			rows = row(impostor, cyrillic, "exact_symbol", 2) + "," + row(usdc, "USDC", "similar", 1)
		}
		fmt.Fprintf(w, `{"items":[%s],"page":1,"limit":8,"total":2}`, rows)
	})
	session, end := drive(t, "--url", url)
	texts, failed := callTool(t, session, "get_tokens", map[string]any{"mints": []string{cyrillic}})
	require.False(t, failed)
	require.Contains(t, texts[1], `"ambiguous":"`+cyrillic+`"`)
	require.Contains(t, texts[1], `"candidates_left_off":10`)
	a := testAsk(t, url)
	mint, about, err := a.mintOf(t.Context(), "USDC")
	require.NoError(t, err)
	require.Equal(t, usdc, mint)
	require.Equal(t, []any{lookedUp{"USDC", usdc, []lookAlike{{impostor, cyrillic, "n"}}, 10}}, about.notes)
	require.NoError(t, end())
}

// An answer that is too long is asked for again with fewer rows, so its cursor fits to its rows.
func TestMCPKeepsAnswersShort(t *testing.T) {
	url := serving(t, "GET /tokens/{mint}/history", func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil {
			limit = 20
		}
		rows := make([]string, limit)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"slot":%d,"signature":null,"changes":[{"field":"description","before":%q,"after":null}]}`, i, strings.Repeat("x", 5000))
		}
		fmt.Fprintf(w, `{"mint":%q,"limit":%d,"next":"%d%s","items":[%s]}`, usdc, limit, limit, strings.Repeat("y", 400), strings.Join(rows, ","))
	})
	session, end := drive(t, "--url", url)
	texts, failed := callTool(t, session, "token_history", map[string]any{"mint": usdc, "limit": 1000})
	require.False(t, failed)
	require.LessOrEqual(t, len(texts[0]), maxTold)
	var page struct {
		Items []map[string]any
		Next  string
	}
	require.NoError(t, json.Unmarshal([]byte(texts[0]), &page))
	require.Len(t, page.Items, 50)
	require.Equal(t, "50"+strings.Repeat("y", 400), page.Next, "a cursor is never cut")
	require.NotContains(t, page.Items[0], "signature", "what is null is left out")
	require.Contains(t, texts[1], `"asked":100,"limit":50`)
	long, err := (&told{}).whole(short{}, []byte(`{"rows":[`+strings.Repeat(`"`+strings.Repeat("z", 500)+`",`, 300)+`"z"]}`), nil)
	require.NoError(t, err)
	require.Less(t, len(long.body), 1000)
	require.Contains(t, string(long.body), `"rows_left_off":296`)
	require.NoError(t, end())
}

// TestMCPPagesOfASearchHoldTheirRows: a page whose rows do not fit begins where it begins
// otherwise.
func TestMCPPagesOfASearchHoldTheirRows(t *testing.T) {
	url := serving(t, "GET /tokens", func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		rows := make([]string, limit)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"mint":%q,"name":"row %d","description":%q}`, usdc, (page-1)*limit+i+1, strings.Repeat("x", 1000))
		}
		fmt.Fprintf(w, `{"items":[%s],"total":1000,"page":%d,"limit":%d}`, strings.Join(rows, ","), page, limit)
	})
	session, end := drive(t, "--url", url)
	for _, c := range []struct {
		page, limit int
		first       string
		rows        int
	}{{2, 1000, "row 51", 50}, {3, 20, "row 41", 20}} {
		texts, failed := callTool(t, session, "search_tokens", map[string]any{"query": "x", "page": c.page, "limit": c.limit})
		require.False(t, failed)
		require.LessOrEqual(t, len(texts[0]), maxTold)
		var page struct {
			Items []struct{ Name string }
			Left  int `json:"items_left_off"`
		}
		require.NoError(t, json.Unmarshal([]byte(texts[0]), &page))
		require.Equal(t, c.first, page.Items[0].Name)
		require.Equal(t, c.rows, len(page.Items)+page.Left)
		require.Equal(t, page.Left > 0, len(texts) > 1 && strings.Contains(texts[1], "pages of a smaller limit"))
	}
	require.NoError(t, end())
}

func TestMCPResourcesHaveTheRest(t *testing.T) {
	node := cannedMarket(t)
	session, end := drive(t, "--url", node.URL)
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, templates.ResourceTemplates, 4)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "token_trades", Arguments: map[string]any{"mint": usdc}})
	require.NoError(t, err)
	link, is := result.Content[len(result.Content)-1].(*mcp.ResourceLink)
	require.True(t, is)
	for uri, want := range map[string]string{
		link.URI: `"id":"6553f101`, "mintlake://status": "complete_to_slot", "mintlake://tokens/" + usdc: `"signer"`, "mintlake://tokens/" + usdc + "/history?cursor=00~.": "instruction_index",
		"mintlake://tokens/" + usdc + "/ohlcv": "candles", "mintlake://tokens/" + usdc + "/holders": "2315006", "mintlake://tokens/" + usdc + "/accounts": `"77"`,
		"mintlake://tokens/" + usdc + "/pools": "raydium_cpmm", "mintlake://tokens/" + usdc + "/transfers": "burn", "mintlake://tokens/" + usdc + "/liquidity": "12.5",
		"mintlake://owners/" + wallet + "/tokens": "value_usd", "mintlake://owners/" + wallet + "/accounts": `"88"`, "mintlake://owners/" + wallet + "/transfers": "from_owner",
		"mintlake://pools/" + pool + "/liquidity": `"55"`, "mintlake://pools/" + pool + "/reserves": `"222"`,
	} {
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		require.NoError(t, err, uri)
		require.Contains(t, read.Contents[0].Text, want, uri)
	}
	for _, uri := range []string{"mintlake://tokens/x", "mintlake://tokens/" + usdc + "/nothing", "mintlake://nothing", "file:///etc/passwd", "mintlake://tokens/" + pool, "mintlake://tokens/..%2Fstatus"} {
		_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		require.Error(t, err, uri)
	}
	require.NoError(t, end())
}

func TestShortenHidesNothingFromPeople(t *testing.T) {
	text, err := shorten([]byte(`{"name":"a\u202eb\u200bc\ud83d\ude00\udb40\udc41","n":123456789012345678901234567890,"none":null,"rows":[1,2,3],"drop":1}`), short{drop: []string{"drop"}, rows: 2})
	require.NoError(t, err)
	require.Equal(t, `{"n":123456789012345678901234567890,"name":"abc😀","rows":[1,2],"rows_left_off":1}`, string(text))
	text, err = shorten([]byte(`{"next":"a\u200b`+strings.Repeat("x", 400)+`","items":[{"next":"a\u202eb\udb40\udc41xyz"}],"next_cursor":["\u200b"]}`), short{texts: 3})
	require.NoError(t, err)
	require.Equal(t, "{\"items\":[{\"next\":\"abx…\"}],\"next\":\"a\u200b"+strings.Repeat("x", 400)+"\",\"next_cursor\":[\"\"]}", string(text), "a creator's member is no cursor")
	_, err = shorten([]byte("<html>"), short{})
	require.ErrorContains(t, err, "is this a token API")
}

func FuzzShorten(f *testing.F) {
	f.Add([]byte(`{"a":["b",{"next":"c"}],"d":null}`))
	f.Add([]byte(`"\u202e"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := shorten(text, short{drop: []string{"drop"}, rows: 3, texts: 5})
		if err != nil {
			return
		}
		require.True(t, json.Valid(out), "%q", out)
		again, err := shorten(out, short{})
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}

// drive starts the command and connects the official client to it. end stops it.
func drive(t *testing.T, args ...string) (session *mcp.ClientSession, end func() error) {
	t.Helper()
	in, toCommand := io.Pipe()
	fromCommand, out := io.Pipe()
	root := &cobra.Command{Use: "mintlake", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(Commands("v1")...)
	root.SetIn(in)
	root.SetOut(out)
	root.SetArgs(append([]string{"mcp"}, args...))
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- root.ExecuteContext(ctx) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromCommand, Writer: toCommand}, nil)
	require.NoError(t, err)
	return session, func() error {
		cancel()
		return errors.Join(toCommand.Close(), out.Close(), <-ended)
	}
}

// testAsk returns one run of a command.
func testAsk(t *testing.T, url string) *ask {
	t.Helper()
	c, err := client.New(client.Config{URL: url})
	require.NoError(t, err)
	return &ask{Client: c}
}
