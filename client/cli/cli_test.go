package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/openapi"
)

var update = flag.Bool("update", false, "write the screens of docs/cli.md anew")

const (
	usdc       = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	sol        = "So11111111111111111111111111111111111111112"
	impostor   = "FakeUSDC1111111111111111111111111111111111"
	poolOfUSDC = "7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny"
	wallet     = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
)

// marketOfUSDC is a member of its row where market=true asks for it.
const marketOfUSDC = `"market":{"as_of":1,"price_usd":0.99987,"market_cap_usd":9875259234.1,"liquidity_usd":4321000,"organic_volume_usd":5,"trades_24h":9},`

// windowsOfUSDC is the member of its row that windows=true asks for.
func windowsOfUSDC() string {
	window := func(change string, n int) string {
		return fmt.Sprintf(`{"price_change":%s,"price_since":null,"high_usd":1.0002,"low_usd":0.9995,"volume_usd":%d.5,"bought_usd":%d,"sold_usd":%d.5,"trades":%d,"buys":%d,"sells":%d,"traders":%d,"buyers":%d,"sellers":%d}`,
			change, 9000*n, 4000*n, 5000*n, 90*n, 40*n, 50*n, 30*n, 12*n, 21*n)
	}
	return `,"windows":{"5m":` + window("null", 1) + `,"1h":` + window("-0.0125", 10) + `,"6h":` + window("0.02", 60) + `,"24h":` + window("0.013", 200) + `}`
}

// canned answers as a node does, with text that creators of tokens wrote to do harm.
func canned(t *testing.T) *httptest.Server {
	t.Helper()
	now := time.Now()
	since := func(age time.Duration) int64 { return now.Add(-age - time.Second).UnixMilli() }
	row := func(symbol, name, mint string, decimals int, more string) string {
		return fmt.Sprintf(`{"mint":%q,"symbol":%q,"name":%q,"decimals":%d,"logo_status":"ok","is_token22":false%s}`, mint, symbol, name, decimals, more)
	}
	evidence := `"evidence":{"skeleton":"usdc","sharing":2,"rank_by_volume":1,"rank_by_age":1,"canonical":"` + usdc + `","signals":["mint_authority","freeze_authority"]}`
	real := row("USDC", "USD Coin", usdc, 6, fmt.Sprintf(`,"supply":"9876543210123456","daily_volume_usd":1234567890.5,"first_seen_at":%d,"mint_authority":"BJE5MMbqXjVwjAF7oxwPYXnTXDyspzZyt4vwenNw5ruG","external_url":"https://www.circle.com","tags":["verified"],`+marketOfUSDC+`"match":{"tier":"exact_symbol","field":"symbol","score":0},%s`,
		since(2000*24*time.Hour), evidence))
	fake := row("USDC", "USD Co\\u001b[2Jin\\u202e", impostor, 6, fmt.Sprintf(`,"daily_volume_usd":12.5,"first_seen_at":%d,"launchpad":"pump","creator":"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM","graduated_at":%d,"match":{"tier":"exact_symbol","field":"symbol","score":0},%s`,
		since(5*time.Minute), since(2*time.Minute), strings.Replace(strings.Replace(evidence, `"rank_by_volume":1`, `"rank_by_volume":2`, 1), `"mint_authority","freeze_authority"`, ``, 1)))
	fake = strings.ReplaceAll(fake, `\\u`, `\u`)
	wrapped := row("SOL", "Wrapped SOL", sol, 9, `,"match":{"tier":"exact_symbol","field":"symbol","score":0}`)
	mux := http.NewServeMux()
	answer := func(pattern string, body func(*http.Request) string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body(r))
		})
	}
	answer("GET /tokens", func(r *http.Request) string {
		if query := r.URL.Query(); query.Get("sort") == "buyers_1h" && query.Get("min") == "traders_24h:25,volume_1h_usd:1000" && query.Get("max") == "price_change_24h:5" {
			return `{"items":[` + real[:len(real)-1] + windowsOfUSDC() + `},` + fake + `],"page":1,"limit":20,"total":2}`
		}
		switch strings.ToLower(r.URL.Query().Get("q")) {
		case "usdc":
			return `{"items":[` + real + `,` + fake + `],"page":1,"limit":20,"total":7}`
		case "sol":
			return `{"items":[` + wrapped + `],"page":1,"limit":20,"total":1}`
		}
		return `{"items":[],"page":1,"limit":20,"total":0}`
	})
	mux.HandleFunc("GET /tokens/{mint}", func(w http.ResponseWriter, r *http.Request) {
		body := map[string]string{usdc: real, sol: wrapped, impostor: fake}[r.PathValue("mint")]
		if r.URL.Query().Get("market") != "true" {
			body = strings.Replace(body, marketOfUSDC, "", 1)
		}
		if r.URL.Query().Get("windows") == "true" && strings.Contains(body, `"market":`) {
			body = body[:len(body)-1] + windowsOfUSDC() + "}"
		}
		if r.URL.Query().Get("lists") == "true" && body != "" {
			body = body[:len(body)-1] + `,"lists":[{"list":"Curated","as_of":1790000000000,"tags":["verified"],"sha256":"` + strings.Repeat("ab", 32) + `","signer":"7Np41oeYqPefeNQEHSv1UDhYrehxin3NStELsSKCT4K2","signature":"c2ln"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		if body == "" {
			w.WriteHeader(http.StatusNotFound)
			body = `{"statusCode":404,"error":"Not Found","message":"the mint is not in the registry"}`
		}
		fmt.Fprint(w, body)
	})
	answer("GET /tokens/{mint}/ohlcv", func(*http.Request) string {
		return `{"mint":"` + usdc + `","interval":"1h","in":"usd","candles":[{"time":1789999200,"open":0.9999,"high":1.0002,"low":0.9995,"close":0.99987,"volume_usd":12345.5,"trades":321,"traders":12},
			{"time":1790002800,"open":null,"high":null,"low":null,"close":null,"volume_usd":0,"trades":1,"traders":1}]}`
	})
	answer("POST /tokens/batch", func(r *http.Request) string {
		if asked, _ := io.ReadAll(r.Body); bytes.Contains(asked, []byte(sol)) {
			return `{"items":[` + real + `,` + wrapped + `],"unknown":[]}`
		}
		return `{"items":[` + real + `],"unknown":["` + impostor + `"],"states":[{"mint":"` + usdc + `","state":"ready","retry_after_ms":null},` +
			`{"mint":"` + impostor + `","state":"not_a_mint","reason":"no_mint_there","retry_after_ms":3600000}]}`
	})
	answer("GET /tokens/{mint}/history", func(*http.Request) string {
		entry := `"transaction_index":1,"instruction_index":0,"inner_instruction_index":null,"batch_index":null,"in_registry":true`
		return fmt.Sprintf(`{"mint":%q,"limit":2,"next":"00~.","items":[
			{"slot":400000123,"block_time":%d,"source":"instruction","kind":"set_authority","instruction":"SetAuthority","signature":"5sig",%s,"changes":[{"field":"mint_authority","before":"Abc","after":null}]},
			{"slot":400000001,"block_time":%d,"source":"instruction","kind":"initialize_mint","instruction":"InitializeMint2","signature":"4sig",%s,"changes":[{"field":"decimals","before":null,"after":6},{"field":"symbol","before":"","after":"USDC"}]}]}`,
			usdc, since(time.Minute), entry, since(3*time.Hour), entry)
	})
	answer("GET /tokens/{mint}/trades", func(*http.Request) string {
		return fmt.Sprintf(`{"mint":%q,"next":"6553f10000000000179c00000000000000000000","trades":[{"id":"6553f10100000000179c00010000000000000000","time":%d,"slot":400000123,"signature":"5sig","side":"sell",
			"amount":"1500000000","quote_mint":%q,"quote_amount":"7500000000","decimals":6,"quote_decimals":9,"price":0.005,"price_usd":0.99987,"value_usd":1499.805,"estimated":false,
			"pool":"7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny","venue":"raydium_cpmm","trader":"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM","aggregator":"jupiter_v6"}]}`, usdc, since(time.Minute), sol)
	})
	answer("GET /tokens/{mint}/holders", func(*http.Request) string {
		return fmt.Sprintf(`{"mint":%q,"decimals":6,"supply":"9876543210123456","limit":20,"total":2315006,"next":"00ab","complete":true,"since_slot":400000001,"as_of_slot":400000123,"items":[
			{"rank":1,"owner":%q,"owner_kind":"wallet","amount":"1234567890123456","accounts":2,"share_pct":12.5},{"rank":2,"owner":null,"owner_kind":"unknown","amount":"5","accounts":1,"share_pct":null}]}`, usdc, wallet)
	})
	answer("GET /owners/{owner}/tokens", func(*http.Request) string {
		return fmt.Sprintf(`{"owner":%q,"limit":20,"total":3,"sort":"value","next":"00cd","complete":false,"since_slot":null,"as_of_slot":400000123,"items":[
			{"mint":%q,"symbol":"USDC","name":"USD Coin","decimals":6,"amount":"1234567890","accounts":1,"price_usd":1,"value_usd":1234.56789,"complete":false},
			{"mint":%q,"symbol":null,"name":null,"decimals":null,"amount":"7","accounts":1,"price_usd":null,"value_usd":null,"complete":false}]}`, wallet, usdc, impostor)
	})
	answer("GET /owners/{owner}/accounts", func(*http.Request) string {
		return fmt.Sprintf(`{"owner":%q,"limit":20,"next":"00ef","complete":true,"since_slot":400000001,"as_of_slot":400000123,"items":[
			{"mint":%q,"account":"7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny","owner":%q,"amount":"1234567890","is_frozen":false,"delegate":%q,"delegated_amount":"500000000"},
			{"mint":%q,"account":"5xyaTEAbh7eHoeLmWb9uFgyAry9JfVHrmNszvPgHAnMY","owner":%q,"amount":"7","is_frozen":true,"delegate":null,"delegated_amount":null},
			{"mint":%q,"account":"BJE5MMbqXjVwjAF7oxwPYXnTXDyspzZyt4vwenNw5ruG","owner":%q,"amount":"0","is_frozen":null,"delegate":null,"delegated_amount":null}]}`,
			wallet, usdc, wallet, sol, impostor, wallet, impostor, wallet)
	})
	answer("GET /tokens/{mint}/pools", func(*http.Request) string {
		return fmt.Sprintf(`{"mint":%q,"pools":[{"pool":%q,"venue":"raydium_cpmm","mint_a":%q,"mint_b":%q,"reserve_a":"150000000000","reserve_b":"1000000000000","created_at":%d,"daily_volume_usd":12345.6,"trades":321,"lp_mint":null}]}`,
			sol, poolOfUSDC, usdc, sol, since(3*time.Hour))
	})
	answer("GET /tokens/{mint}/liquidity/history", func(*http.Request) string {
		return fmt.Sprintf(`{"mint":%q,"points":[{"time":1789999200,"liquidity_usd":298000.5,"pools":2},{"time":1790002800,"liquidity_usd":null,"pools":1}]}`, usdc)
	})
	answer("GET /pools/{pool}/liquidity", func(*http.Request) string {
		change := fmt.Sprintf(`"slot":400000123,"venue":"raydium_cpmm","mint_a":%q,"fees_a":null,"fees_b":null,"reserve_a":null,"reserve_b":null,"instruction":"deposit","provider":%q`, usdc, wallet)
		return fmt.Sprintf(`{"pool":%q,"lp_mint":"5xyaTEAbh7eHoeLmWb9uFgyAry9JfVHrmNszvPgHAnMY","next":"%032x","changes":[
			{"id":"%032x","time":%d,"signature":"5sig","kind":"added","mint_b":%q,"amount_a":"1500000000","amount_b":"10000000000","decimals_a":6,"decimals_b":9,"lp_amount":"3872983",%s},
			{"id":"%032x","time":null,"signature":"4sig","kind":"removed","mint_b":null,"amount_a":"750","amount_b":"0","decimals_a":null,"decimals_b":null,"lp_amount":null,%s}]}`,
			poolOfUSDC, 1, 2, since(time.Minute), sol, change, 1, change)
	})
	answer("GET /pools/{pool}/liquidity/history", func(*http.Request) string {
		return fmt.Sprintf(`{"pool":%q,"points":[{"time":1790002800,"mint_a":%q,"mint_b":%q,"reserve_a":"150000000000","reserve_b":"1000000000000"}]}`, poolOfUSDC, usdc, sol)
	})
	answer("GET /owners/{owner}/transfers", func(*http.Request) string {
		return fmt.Sprintf(`{"owner":%q,"limit":20,"next":null,"complete":false,"since_slot":null,"as_of_slot":1,"items":[{"direction":"in","mint":%q,"from_owner":%q}]}`, wallet, usdc, sol)
	})
	answer("GET /status", func(*http.Request) string {
		return fmt.Sprintf(`{"ready":true,"reasons":[],"source":{"kind":"geyser","done":false,"slot":400000123,"blocks":5,"transactions":900,"token_events":70,"failed_inputs":0,"failures":[],"reported_at_ms":1},
			"pipeline":{"lag_records":3,"projector_lag":3,"enrich_lag":0,"api_lag":0,"topics":{},"error":null,"measured_at_ms":1,"last_known_lag_records":3,"last_known_age_ms":0},
			"registry":{"tokens":1234567},"coverage":{"from_slot":400000001,"to_slot":400000123,"complete_to_slot":400000050,"gaps":[{"from_slot":400000051,"to_slot":400000060}],"gap_count":1},
			"freshness":{"p50_ms":21,"p99_ms":85,"count":70},"root":{"slot":400000100,"hash":"9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"},
			"kafka":{"ok":true,"since_ms":1,"error":null},"clickhouse":{"ok":false,"since_ms":%d,"error":"connection refused","damaged_parts":null,"damage_count":null},
			"unknowns":[{"kind":"instruction","name":"spl_token 99","count":12,"sources":["ingest"],"first_seen_ms":1,"last_seen_ms":2,"first_slot":400000001,"last_slot":400000009}]}`, since(5*time.Minute))
	})
	answer("GET /api/v2/quote", func(r *http.Request) string {
		if r.URL.Query().Get("amount_in") != "1500000000" {
			return `{}`
		}
		return `{"src_mint":"` + sol + `","dst_mint":"` + usdc + `","amount_in":"1500000000","amount_out":"224683081","min_amount_out":"223559665","slippage_bps":50,"price_impact_bps":1,"fees":[],"slot":400000005,
			"route":[{"venue":"raydium_cpmm","pool":"7JuwJuNU88gurFnyWeiyGKbFmExMWcmRZntn9imEzdny"}],"warnings":["dst_mint: freezable"]}`
	})
	mux.HandleFunc("GET /tokens/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "retry: 1\n\nevent: new\ndata: %s\n\nid: abc\n\nevent: removed\ndata: {\"mint\":%q}\n\n", wrapped, impostor)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// call runs a command as the binary does and returns both outputs in one, as a terminal shows them.
func call(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := &cobra.Command{Use: "mintlake", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(Commands("v1")...)
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetIn(strings.NewReader(input))
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// screens are the commands of docs/cli.md with what they print.
var screens = []string{
	"tokens search usdc", "tokens search --sort buyers_1h --min traders_24h:25,volume_1h_usd:1000 --max price_change_24h:5", "tokens get USDC", "tokens candles USDC --limit 2", "tokens batch " + usdc + " " + impostor, "tokens history USDC --limit 2", "tokens trades USDC --limit 1", "tokens holders USDC", "owners get " + wallet, "owners accounts " + wallet,
	"tokens pools SOL", "tokens liquidity USDC --limit 2", "pools liquidity " + poolOfUSDC, "pools history " + poolOfUSDC, "status", "quote SOL USDC 1.5",
}

// Every screen of docs/cli.md is what the command prints: -update writes them.
func TestScreensOfThePage(t *testing.T) {
	server := canned(t)
	path := filepath.Join(testkit.Root(t), "docs", "cli.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(text)
	for _, screen := range screens {
		args := append(strings.Fields(screen), "--url", server.URL)
		if strings.HasPrefix(screen, "quote") {
			args = append(args, "--swap-url", server.URL)
		}
		shown, err := call(t, "", args...)
		require.NoError(t, err, screen)
		require.NotContains(t, shown, "\x1b", "no colours and no escapes in a pipe")
		begin := "```\n$ mintlake " + screen + "\n"
		before, rest, found := strings.Cut(page, begin)
		require.True(t, found, "docs/cli.md has no screen of: mintlake %s", screen)
		has, after, _ := strings.Cut(rest, "```")
		if *update {
			page = before + begin + shown + "```" + after
			continue
		}
		require.Equal(t, shown, has, "%s: go test ./client/cli -update", screen)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
}

func TestGetTellsTheLaunch(t *testing.T) {
	shown, err := call(t, "", "tokens", "get", impostor, "--url", canned(t).URL)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^launchpad +pump\ncreator +9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM\ngraduated +2 m$`, shown)
}

// Where a market cap is missing, the reason is told.
func TestGetTellsWhyThereIsNoMarketCap(t *testing.T) {
	url := serving(t, "GET /tokens/{mint}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"mint":%q,"symbol":"X","market":{"market_cap_withheld":"thin_liquidity","fdv_usd":81000000000000}}`, impostor)
	})
	shown, err := call(t, "", "tokens", "get", impostor, "--url", url)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^market cap +withheld: thin liquidity; price times supply is \$81.00T$`, shown)
}

// What is asked for reaches the node: each filter of trades and of candles.
func TestFiltersReachTheNode(t *testing.T) {
	var asked []string
	url := serving(t, "GET /tokens/{mint}/{what}", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Encode())
		fmt.Fprint(w, `{}`)
	})
	for _, flags := range []string{
		"trades --limit 3 --pool " + poolOfUSDC + " --trader " + wallet + " --side buy --min-value 5 --from 1790000000 --to 1790000060 --before 00ab",
		"candles --limit 3 --interval 1s --pool " + poolOfUSDC + " --in quote --from 1790000000 --to 1790000060",
	} {
		_, err := call(t, "", append([]string{"tokens"}, append(strings.Fields(flags), usdc, "--url", url)...)...)
		require.NoError(t, err, flags)
	}
	require.Equal(t, []string{
		"before=00ab&from=1790000000&limit=3&min_value=5&pool=" + poolOfUSDC + "&side=buy&to=1790000060&trader=" + wallet,
		"from=1790000000&in=quote&interval=1s&limit=3&pool=" + poolOfUSDC + "&to=1790000060",
	}, asked)
}

// Trades are shown as they come; a filter beside --follow is refused, as the stream has none.
func TestTradesAreFollowed(t *testing.T) {
	url := serving(t, "GET /trades/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: open\ndata: {}\n\nevent: trade\ndata: {\"id\":%q,\"time\":1790000000000,\"side\":\"sell\",\"amount\":\"1500000000\",\"decimals\":6,\"price_usd\":0.99987,\"value_usd\":1499.8,\"estimated\":true,\"venue\":\"raydium_cpmm\\u001b[2J\"}\n\n", r.URL.Query().Get("mint"))
	})
	shown, err := call(t, "", "tokens", "trades", usdc, "--follow", "--url", url)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^14:13:20  sell +1,500 +\$0\.99987  ≈ +\$1499\.80  raydium_cpmm\[2J$`, shown)
	require.Contains(t, shown, "no trade is missed from now on")
	shown, err = call(t, "", "tokens", "trades", usdc, "--follow", "--json", "--url", url)
	require.NoError(t, err)
	require.Contains(t, shown, `"id":"`+usdc+`"`)
	_, err = call(t, "", "tokens", "trades", usdc, "--follow", "--side", "buy", "--url", url)
	require.ErrorContains(t, err, "follow")
}

func TestJSONIsTheAnswerAsItCame(t *testing.T) {
	server := canned(t)
	shown, err := call(t, "", "tokens", "get", usdc, "--json", "--url", server.URL)
	require.NoError(t, err)
	response, err := http.Get(server.URL + "/tokens/" + usdc + "?market=true&windows=true&lists=true")
	require.NoError(t, err)
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	require.NoError(t, err)
	require.JSONEq(t, body.String(), shown)
	shown, err = call(t, usdc+"\n"+impostor+"\n", "tokens", "batch", "--json", "--url", server.URL)
	require.NoError(t, err)
	require.Contains(t, shown, `"no_mint_there"`)
}

// serving answers one route.
func serving(t *testing.T, pattern string, answer http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// A batch of many mints is several requests: what the first ones found is shown when a later one
// fails.
func TestABatchShowsWhatItFoundBeforeAnError(t *testing.T) {
	requests := 0
	url := serving(t, "POST /tokens/batch", func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests > 1 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"statusCode":400,"error":"Bad Request","message":"mints[0] is no address"}`)
			return
		}
		fmt.Fprintf(w, `{"items":[{"mint":%q,"symbol":"USDC","name":"USD Coin","decimals":6,"logo_status":"ok","is_token22":false}],"unknown":[],"states":[{"mint":%q,"state":"ready","retry_after_ms":null}]}`, usdc, usdc)
	})
	shown, err := call(t, strings.Repeat(usdc+"\n", client.MaxBatch)+"x\n", "tokens", "batch", "--url", url)
	require.EqualError(t, err, "mints[0] is no address")
	require.Contains(t, shown, "USD Coin")
}

// TestHistoryIsForPeople: times are dates, and a read has no signature.
func TestHistoryIsForPeople(t *testing.T) {
	url := serving(t, "GET /tokens/"+usdc+"/history", func(w http.ResponseWriter, _ *http.Request) {
		place := `"slot":400000001,"block_time":null,"instruction":null,"transaction_index":null,"instruction_index":null,"inner_instruction_index":null,"batch_index":null,"in_registry":true`
		fmt.Fprintf(w, `{"mint":%q,"limit":2,"next":null,"items":[
			{%s,"source":"account_read","kind":"mint_account","signature":null,"changes":[{"field":"first_seen_at","before":null,"after":1767225600000},{"field":"graduated_at","before":1767225600000,"after":null}]},
			{%s,"source":"token_list","kind":"token_list","signature":null,"changes":[{"field":"last_seen_at","before":0,"after":1767225661500},{"field":"decimals","before":null,"after":6},{"field":"seller_fee_basis_points","before":5,"after":1767225600000}]}]}`,
			usdc, place, place)
	})
	shown, err := call(t, "", "tokens", "history", usdc, "--url", url)
	require.NoError(t, err)
	require.Regexp(t, `mint account +first_seen_at 2026-01-01 00:00:00 +-\n +graduated_at 2026-01-01 00:00:00 → none`, shown)
	require.Regexp(t, `last_seen_at → 2026-01-01 00:01:01 +-\n +decimals 6\n +seller_fee_basis_points 5 → 1767225600000`, shown)
	require.NotContains(t, shown, "account_read")
}

func TestStatusSaysWhyTheNodeIsNotReady(t *testing.T) {
	for reasons, want := range map[string]string{
		`[]`:                  `^ready +no: the registry is still loading\nsource`,
		`["topic x is gone"]`: `^ready +no\n +topic x is gone\nsource`,
	} {
		url := serving(t, "GET /status", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"ready":false,"reasons":%s,"coverage":{"gaps":[],"gap_count":0}}`, reasons)
		})
		shown, err := call(t, "", "status", "--url", url)
		require.NoError(t, err)
		require.Regexp(t, want, shown)
	}
}

func TestStatusSaysWhatIsKnownOfTheLag(t *testing.T) {
	const slow = `"error":"kafka is slow to tell offsets"`
	for pipeline, want := range map[string]string{
		`{}`:             "lag +not measured yet\n",
		`{` + slow + `}`: "lag +unknown: kafka is slow to tell offsets\n",
		`{"lag_records":7,` + slow + `,"last_known_age_ms":9100}`: "lag +7 records, 9 s ago: kafka is slow to tell offsets\n",
		`{"lag_records":7,"last_known_age_ms":0}`:                 "lag +7 records\n",
	} {
		url := serving(t, "GET /status", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"ready":true,"reasons":[],"pipeline":%s,"coverage":{"gaps":[],"gap_count":0}}`, pipeline)
		})
		shown, err := call(t, "", "status", "--url", url)
		require.NoError(t, err)
		require.Regexp(t, want, shown)
	}
}

func TestWatchShowsEventsAndGoesOn(t *testing.T) {
	server := canned(t)
	shown, err := call(t, "", "tokens", "watch", "--count", "3", "--url", server.URL)
	require.NoError(t, err)
	require.Regexp(t, `^\d\d:\d\d:\d\d  new      So1+2   SOL          Wrapped SOL\n\d\d:\d\d:\d\d  removed  FakeUSDC1+\n.*new.*\n$`, shown)
	shown, err = call(t, "", "tokens", "watch", "--new", "--json", "--count", "1", "--url", server.URL)
	require.NoError(t, err)
	require.Contains(t, shown, `"event":"new"`)
	shown, err = call(t, "", "tokens", "watch", "--new", "--json", "--count", "2", "--url", server.URL)
	require.NoError(t, err)
	require.Contains(t, shown, `{"data":"abc","event":"cursor"}`, "a place to go on from")
	require.NotContains(t, shown, `"removed"`)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	server := canned(t)
	_, err := call(t, "", "status", "--url", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "nothing answers at http://127.0.0.1:1")
	require.ErrorContains(t, err, "--url")
	_, err = call(t, "", "status", "--url", "localhost")
	require.ErrorContains(t, err, "http(s)://host:port")
	_, err = call(t, "", "tokens", "get", "nothing", "--url", server.URL)
	require.ErrorContains(t, err, `no token has the symbol or mint "nothing"`)
	_, err = call(t, "", "quote", "SOL", "USDC", "1.0000000001", "--url", server.URL)
	require.ErrorContains(t, err, "9 decimals")
	_, err = call(t, "", "tokens", "batch", "--url", server.URL)
	require.ErrorContains(t, err, "no mint")
}

// TestSortsAreThoseOfTheAPI: but for a walk's, which makes no sense for people.
func TestSortsAreThoseOfTheAPI(t *testing.T) {
	raw, err := openapi.JSON()
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name   string
				Schema struct{ Enum []string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	for _, parameter := range document.Paths["/tokens"]["get"].Parameters {
		if parameter.Name == "sort" {
			require.Equal(t, slices.DeleteFunc(parameter.Schema.Enum, func(sort string) bool { return sort == "mint" }), sorts)
		}
	}
	for _, sort := range sorts {
		_, _, has := windowColumn(sort)
		require.Equal(t, strings.HasSuffix(strings.TrimSuffix(sort, "_usd"), "m") || strings.HasSuffix(strings.TrimSuffix(sort, "_usd"), "h"), has, "the column of what tokens are sorted by: %s", sort)
	}
	shown, err := call(t, "", "__complete", "tokens", "search", "--sort", "")
	require.NoError(t, err)
	for _, sort := range sorts {
		require.Contains(t, strings.Split(shown, "\n"), sort)
	}
}

func TestMintsCompleteBySearch(t *testing.T) {
	server := canned(t)
	shown, err := call(t, "", "__complete", "tokens", "get", "--url", server.URL, "usdc")
	require.NoError(t, err)
	require.Contains(t, shown, usdc+"\tUSDC USD Coin")
}
