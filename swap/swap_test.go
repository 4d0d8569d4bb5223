package swap

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

func TestInvalidRequestsNameFieldValueAndRule(t *testing.T) {
	f := start(t, Config{}, chain())
	ok := query(coin, taxed, "1")
	for path, want := range map[string]string{
		"/api/v2/quote":                                                 `src_mint is missing: must be a base58`,
		ok + "&src_mint=x":                                              "src_mint is given twice",
		query(coin, coin, "1"):                                          "must differ from src_mint",
		query(coin, taxed, ""):                                          `amount_in is missing: must be`,
		query(coin, taxed, "0"):                                         `amount_in is "0": must be`,
		query(coin, taxed, "-1"):                                        `amount_in is "-1"`,
		query(coin, taxed, "1.5"):                                       `amount_in is "1.5"`,
		query(coin, taxed, "18446744073709551616"):                      "18446744073709551615",
		query(coin, taxed, "1", fieldSlippage, ""):                      `slippage_bps is missing: must be a whole number from 0 to 10000`,
		query(coin, taxed, "1", fieldSlippage, "10001"):                 "0 to 10000",
		query(coin, taxed, "1", fieldUser, "x"):                         `user_account is "x"`,
		query(coin, taxed, "1", fieldUser, cpmm.Authority.String()):     "off the curve",
		query(coin, taxed, "1", fieldSource, strings.Repeat("1", 5000)): "src_mint is",
	} {
		f.refused(t, http.MethodGet, path, "", http.StatusBadRequest, want)
	}
	for body, want := range map[string]string{
		``: "JSON object", `[]`: "JSON object", `null`: "JSON object", `{} {}`: "one JSON object", `{"amount_in":[1]}`: "amount_in must be", `{"amount_in":true}`: "src_mint is missing", `{"quote":7}`: "quote must be a quote", `{"amount_in":1,"amount_in":1}`: "amount_in is given twice",
		`{"src_mint":1}`: `src_mint is "1"`,
	} {
		f.refused(t, http.MethodPost, "/api/v2/swap", body, http.StatusBadRequest, want)
	}
	noUser := fmt.Sprintf(`{"src_mint":%q,"dst_mint":%q,"amount_in":"1","slippage_bps":1}`, coin.String(), taxed.String())
	f.refused(t, http.MethodPost, "/api/v2/swap", noUser, http.StatusBadRequest, "user_account is missing: must be a base58")
	f.refused(t, http.MethodPost, "/api/v2/swap", strings.Repeat(" ", 40_000), http.StatusRequestEntityTooLarge, "Too Large")
	f.refused(t, http.MethodGet, "/api/v2/swap", "", http.StatusMethodNotAllowed, "use POST")
	f.refused(t, http.MethodPost, "/api/v2/quote", "", http.StatusMethodNotAllowed, "use GET")
	f.refused(t, "QUERY", "/api/v2/quote", "", http.StatusMethodNotAllowed, "use GET")
	f.refused(t, http.MethodGet, "/api/v1/quote", "", http.StatusNotFound, "no such path")
	require.Zero(t, f.chain.Calls("getProgramAccounts"))
}

// TestARequiredParameterThatIsMissingIsNamed, absent or empty, in the URL and in a body, with its
// rule.
func TestARequiredParameterThatIsMissingIsNamed(t *testing.T) {
	f := start(t, Config{}, chain())
	all := map[string]string{
		fieldSource: coin.String(), fieldTarget: taxed.String(), fieldAmount: "1", fieldSlippage: "50", fieldUser: coin.String(),
	}
	for field := range all {
		members, values := map[string]any{}, url.Values{}
		for name, value := range all {
			if name != field {
				members[name] = value
				values.Set(name, value)
			}
		}
		if field != fieldUser { // a quote needs no user
			f.refused(t, http.MethodGet, "/api/v2/quote?"+values.Encode(), "", http.StatusBadRequest, field+" is missing: must be")
			values.Set(field, "")
			f.refused(t, http.MethodGet, "/api/v2/quote?"+values.Encode(), "", http.StatusBadRequest, field+" is missing: must be")
		}
		for _, value := range []any{"absent", "", nil} {
			if value != "absent" {
				members[field] = value
			}
			body, err := json.Marshal(members)
			require.NoError(t, err)
			f.refused(t, http.MethodPost, "/api/v2/swap", string(body), http.StatusBadRequest, field+" is missing: must be")
		}
	}
}

// TestListsOfAQuoteAreNeverAbsent: a list with nothing in it is [].
func TestListsOfAQuoteAreNeverAbsent(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "one", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	status, body := f.do(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "100000"), "")
	require.Equal(t, http.StatusOK, status, string(body))
	var members map[string]any
	require.NoError(t, json.Unmarshal(body, &members))
	require.Equal(t, []any{}, members["warnings"], "these two have none")
	shape := reflect.TypeFor[Response]()
	for i := range shape.NumField() {
		if field := shape.Field(i); field.Type.Kind() == reflect.Slice {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			require.NotNil(t, members[name], name)
			require.Empty(t, options, name)
		}
	}
}

func TestKeysAreRequired(t *testing.T) {
	f := start(t, Config{}, chain())
	good := f.key
	for key, want := range map[string]string{"": "required", "ml_swap_wrong": "not valid"} {
		f.key = key
		f.refused(t, http.MethodGet, query(coin, taxed, "1"), "", http.StatusUnauthorized, want)
	}
	status, _ := f.do(t, http.MethodGet, query(coin, taxed, "1")+"&apiKey="+good, "")
	require.Equal(t, http.StatusUnauthorized, status, "the swap API takes keys in the header only")
	require.NotContains(t, f.log.String(), good)

	_, err := New(Config{Addr: "0.0.0.0:0"}, Deps{Keys: &keys.Static{}})
	require.ErrorContains(t, err, "--swap-keys")
}

func TestOpenServerAnswersToLoopbackNamesOnly(t *testing.T) {
	s, err := New(Config{Addr: "127.0.0.1:0"}, Deps{Keys: &keys.Static{}, RPC: chain()})
	require.NoError(t, err)
	for host, want := range map[string]int{"localhost:1": 404, "127.0.0.1": 404, "evil.example": 403} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, query(coin, taxed, "1"), nil)
		req.Host = host
		req.Header.Set("X-Forwarded-Host", "localhost")
		resp, err := s.app.Test(req, -1) // without its limit of a second
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, host)
	}
}

func TestCORSForConfiguredOriginsOnly(t *testing.T) {
	f := start(t, Config{AllowedOrigins: []string{"https://app.example"}}, chain())
	for origin, want := range map[string]string{"https://app.example": "https://app.example", "https://evil.example": ""} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodOptions, f.url+"/api/v2/quote", nil)
		req.Header.Set("Origin", origin)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusNoContent, resp.StatusCode)
		require.Equal(t, want, resp.Header.Get("Access-Control-Allow-Origin"))
	}
}

func TestAmbiguousLengthsAreRefused(t *testing.T) {
	f := start(t, Config{}, chain())
	c, err := net.Dial("tcp", f.Addr())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte("POST /api/v2/swap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 34\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
		"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"))
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(answer), "400 Bad Request")
	require.Equal(t, 1, strings.Count(string(answer), "HTTP/1.1 "), "the second was answered too: %s", answer)
}

func TestATakenPortIsOneLine(t *testing.T) {
	f := start(t, Config{}, nil)
	s, err := New(Config{Addr: f.Addr()}, Deps{Keys: &keys.Static{}})
	require.NoError(t, err)
	err = s.Run(t.Context())
	require.ErrorContains(t, err, "--swap-addr")
	require.NotContains(t, err.Error(), "\n")
}

// seeds are a value of each parameter.
var seeds = map[string]string{
	fieldQuote: `{"src_mint":"a","dst_mint":"b","amount_in":"1","min_amount_out":"1","swap_mode":"exact_in","slippage_bps":1}`, fieldFormat: `"jupiter"`,
	fieldSource: `"D6Ctou6S3Ck3Hd2pNt48y5jv4Q4AvSvd4vnsFAGrKtwz"`, fieldTarget: `"So11111111111111111111111111111111111111112"`, fieldMode: `"exact_in"`,
	fieldAmount: `"5"`, fieldAmountOut: `5`, fieldSlippage: `50`, fieldUser: `"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"`, fieldOnlyDirect: `true`, fieldOnlyHubs: `false`,
	fieldDexes: `["raydium_cpmm","Whirlpool"]`, fieldExclude: `"Raydium CP,Nowhere"`, fieldMaxAccounts: `40`, fieldPriorityFee: `{"jitoTipLamports":5}`, fieldFee: `0`,
	fieldTreasury: `"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"`, fieldMaxAge: `3`, fieldVersion: `1`, fieldLegacy: `true`, fieldPayer: `"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"`,
	fieldDestination: `"SysvarC1ock11111111111111111111111111111111"`, fieldNative: `"SysvarC1ock11111111111111111111111111111111"`,
	fieldFeeAccount: `"SysvarC1ock11111111111111111111111111111111"`, fieldWrap: `false`, fieldUnitPrice: `714285714`, fieldDynamicUnits: `true`, fieldSkipAccounts: `true`,
	fieldOffCurve: `true`, fieldSizes: `true`,
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"src_mint":"So11111111111111111111111111111111111111112","dst_mint":"a","amount_in":1,"slippage_bps":"1","user_account":"x"}`), true)
	f.Add([]byte(`{"amount_in":1e400}`), false)
	f.Add([]byte(`{"quoteResponse":{"inputMint":"So11111111111111111111111111111111111111112","outputMint":"a","inAmount":"1","otherAmountThreshold":"1","swapMode":"ExactIn","slippageBps":1}}`), false)
	const ends = `{"src_mint":"D6Ctou6S3Ck3Hd2pNt48y5jv4Q4AvSvd4vnsFAGrKtwz","dst_mint":"So11111111111111111111111111111111111111112","amount_in":1,"slippage_bps":1,`
	for _, more := range []string{
		`"transaction_version":1,"payer":"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"}`, `"asLegacyTransaction":true,"wrapAndUnwrapSol":false}`,
		`"native_destination_account":"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"}`, `"compute_unit_price_micro_lamports":7,"fee_bps":1,"fee_account":"a"}`,
		`"prioritizationFeeLamports":{"priorityLevelWithMaxLamports":{"priorityLevel":"high","maxLamports":5}}}`, `"priority_fee":{"jitoTipLamports":5}}`,
		`"priority_fee":{"jitoTipLamportsWithPayer":{"lamports":5,"payer":"4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"}},"destinationTokenAccount":"a"}`,
	} {
		f.Add([]byte(ends+more), false)
	}
	for _, name := range order {
		require.Contains(f, seeds, name)
		for _, spelling := range []string{name, aliases[name]} {
			members := map[string]json.RawMessage{
				fieldSource: json.RawMessage(seeds[fieldSource]), fieldTarget: json.RawMessage(seeds[fieldTarget]), fieldSlippage: json.RawMessage("7"),
				fieldUser: json.RawMessage(seeds[fieldUser]), fieldAmount: json.RawMessage("1"),
			}
			if name == fieldAmountOut || name == fieldQuote {
				delete(members, fieldAmount)
				members[fieldMode] = json.RawMessage(`"exact_out"`)
			}
			delete(members, name)
			if spelling != "" {
				members[spelling] = json.RawMessage(seeds[name])
				body, err := json.Marshal(members)
				require.NoError(f, err)
				f.Add(body, true)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, needUser bool) {
		fields, err := bodyFields(body)
		if err != nil {
			return
		}
		r, err := parseRequest(fields, needUser)
		if err == nil && (r.amount == 0 || r.fee > maxFee || r.maxAge > maxAge || r.maxAccounts < 1 || r.maxAccounts > maxAccounts || r.slippage > maxSlippage || r.source == r.target || (needUser && r.user == nil)) {
			t.Fatalf("accepted %s", body)
		}
		if err == nil && (r.native != nil && (r.target != mint.WrappedSOL || r.keepWrapped || r.destination != nil) ||
			r.unitPrice != nil && (*r.unitPrice > maxUnitPrice || r.priorityFee != nil) || r.wish.tip > maxPriorityFee || r.wish.most > maxPriorityFee ||
			r.user != nil && r.fee > 0 && r.treasury == nil && r.feeAccount == nil || r.treasury != nil && r.feeAccount != nil ||
			r.payer != nil && !solana.IsOnCurve(r.payer[:]) || r.user != nil && !solana.IsOnCurve(r.user[:]) && fields.text(fieldOffCurve) != "true" ||
			r.version != txwire.Legacy && fields.text(fieldLegacy) == "true") {
			t.Fatalf("accepted %s", body)
		}
		_, _ = fields.routed()
		_, _ = parseRequest(fields.asJupiter(), needUser)
	})
}

// TestProbesAreAnsweredBeyondTheLimits: by fiber, too, whose own bound of connections has room for
// the reserve.
func TestProbesAreAnsweredBeyondTheLimits(t *testing.T) {
	f := start(t, Config{maxInFlight: 1}, chain())
	open := func() net.Conn {
		c, err := net.Dial("tcp", f.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	status := func(c net.Conn, path string) string {
		_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		return line
	}
	for range (Config{maxInFlight: 1}).maxConnections() {
		require.Contains(t, status(open(), "/healthz"), " 200 ")
	}
	require.Contains(t, status(open(), "/"), " 503 ")
	for _, path := range []string{"/healthz", "/readyz"} {
		require.Eventually(t, func() bool {
			c := open()
			defer c.Close()
			return strings.Contains(status(c, path), " 200 ")
		}, time.Minute, 10*time.Millisecond, path)
	}
}
