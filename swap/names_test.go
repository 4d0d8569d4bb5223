package swap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
)

// forms are the ways to ask for the same trade with one parameter more: the request's method, path
// and body.
type form struct{ name, method, path, body string }

// bodies returns the POSTs that have a member more: of parameters, in both spellings, and of both
// sorts of quotes.
func bodies(t *testing.T, f *fixture, name, value string) []form {
	t.Helper()
	ask := query(coin, swaptest.WrappedSOL, "1000000")
	_, quote := f.do(t, http.MethodGet, ask, "")
	_, theirs := f.do(t, http.MethodGet, ask+"&format=jupiter", "")
	return []form{
		{"parameters", http.MethodPost, routeSwap, fmt.Sprintf(`{"src_mint":%q,"dst_mint":%q,"amount_in":"5","slippage_bps":50,"user_account":%q,%q:%s}`,
			coin.String(), swaptest.WrappedSOL.String(), wallet, name, value)},
		{"Jupiter's parameters", http.MethodPost, routeSwap, fmt.Sprintf(`{%q:%s,"inputMint":%q,"outputMint":%q,"amount":5,"slippageBps":50,"userPublicKey":%q}`,
			name, value, coin.String(), swaptest.WrappedSOL.String(), wallet)},
		{"a quote", http.MethodPost, routeSwap, fmt.Sprintf(`{"quote":%s,"user_account":%q,%q:%s}`, quote, wallet, name, value)},
		{"Jupiter's quote", http.MethodPost, routeSwap, fmt.Sprintf(`{"quoteResponse":%s,"userPublicKey":%q,%q:%s}`, theirs, wallet, name, value)},
	}
}

// urls returns the GETs that have a parameter more, with those of streams.
func urls(name, value string) []form {
	more := "&" + url.Values{name: {value}}.Encode()
	ours := query(coin, swaptest.WrappedSOL, "1000000") + more
	theirs := fmt.Sprintf("%s?inputMint=%s&outputMint=%s&amount=5&format=jupiter%s", routeQuote, coin.String(), swaptest.WrappedSOL.String(), more)
	list := []form{{"a quote", http.MethodGet, ours, ""}, {"Jupiter's", http.MethodGet, theirs, ""}}
	for _, one := range list[:2] {
		list = append(list, form{one.name + " as a stream", http.MethodGet, strings.Replace(one.path, routeQuote, routeStream, 1), ""})
	}
	return list
}

func (f *fixture) forbids(t *testing.T, one form, message string) {
	t.Helper()
	t.Log(one.name, one.method, one.path, one.body)
	f.refused(t, one.method, one.path, one.body, http.StatusBadRequest, message)
}

func (f *fixture) permits(t *testing.T, one form) {
	t.Helper()
	if strings.HasPrefix(one.path, routeStream) {
		events, leave := f.events(t, strings.Replace(one.path, routeStream, routeQuote, 1))
		name, _ := next(t, events)
		require.Equal(t, "quote", name)
		leave()
		require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.streams) == 0 }, hang, time.Millisecond)
		return
	}
	status, body := f.do(t, one.method, one.path, one.body)
	require.Equal(t, http.StatusOK, status, "%v: %s", one, body)
}

// TestWhatIsNotHonouredIsRefusedByName on all routes, whatever its type is: the transaction would
// not be the one that the user asked for. What asks for what happens anyway is accepted.
func TestWhatIsNotHonouredIsRefusedByName(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	for name, other := range refusedNames {
		for _, value := range []string{`"x"`, `true`, `false`, `7`, `{"minBps":1,"maxBps":300}`, `["a"]`} {
			text := strings.Trim(value, `"`)
			for i, one := range append(bodies(t, f, name, value), urls(name, text)...) {
				if i > 0 && value != `"x"` && i != 4 {
					continue // the same reader
				}
				if len(other.accepted) == 1 && other.accepted[0] == text {
					f.permits(t, one)
				} else {
					f.forbids(t, one, name+" is "+quoted(text))
				}
			}
		}
		f.forbids(t, urls(name, "")[0], name+" is \"\"")
		for _, one := range bodies(t, f, name, "null") {
			f.permits(t, one)
		}
		for _, accepted := range other.accepted {
			for _, one := range append(bodies(t, f, name, accepted), urls(name, accepted)...) {
				f.permits(t, one)
			}
			f.forbids(t, form{"twice", http.MethodGet, urls(name, accepted)[0].path + "&" + name + "=x", ""}, name+" is given twice")
		}
	}
}

// TestAPriorityFeeHasAllItsForms: a number, auto, and Jupiter's objects. What is none of them is
// refused by name.
func TestAPriorityFeeHasAllItsForms(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	for value, named := range map[string]string{
		`{"priorityLevelWithMaxLamports":{"maxLamports":1000000,"priorityLevel":"x"}}`:                  "prioritizationFeeLamports.priorityLevelWithMaxLamports.priorityLevel is",
		`{"priorityLevelWithMaxLamports":{"priorityLevel":"high"}}`:                                     "must have priorityLevel and maxLamports",
		`{"priorityLevelWithMaxLamports":{"priorityLevel":"high","maxLamports":0}}`:                     "prioritizationFeeLamports.priorityLevelWithMaxLamports.maxLamports is",
		`{"priorityLevelWithMaxLamports":{"priorityLevel":"high","maxLamports":5,"global":1}}`:          "priorityLevelWithMaxLamports.global is",
		`{"priorityLevelWithMaxLamports":{"priorityLevel":"high","maxLamports":5,"x":1}}`:               "there is no parameter",
		`{"priorityLevelWithMaxLamports":{"priorityLevel":"high","maxLamports":5},"jitoTipLamports":1}`: "one of them is enough",
		`{"priorityLevelWithMaxLamports":5}`:                                                            "must be a JSON object",
		`{"jitoTipLamports":1000000001}`:                                                                "prioritizationFeeLamports.jitoTipLamports is",
		`{"jitoTipLamportsWithPayer":{"lamports":5,"payer":"x"}}`:                                       "prioritizationFeeLamports.jitoTipLamportsWithPayer.payer is",
		`{"jitoTipLamportsWithPayer":{"lamports":5}}`:                                                   "must have lamports and payer",
		`{"jitoTipLamportsWithPayer":{"lamports":5,"payer":null}}`:                                      "prioritizationFeeLamports.jitoTipLamportsWithPayer.payer",
		`{"anything":false}`: "prioritizationFeeLamports.anything",
		`{"a":null,"a":1}`:   "a is given twice",
		`"{x"`:               "prioritizationFeeLamports is",
		`"fast"`:             `prioritizationFeeLamports is "fast"`,
		`[1]`:                "prioritizationFeeLamports must be",
		`true`:               "prioritizationFeeLamports is",
		`1000000001`:         "prioritizationFeeLamports is",
	} {
		f.forbids(t, bodies(t, f, "prioritizationFeeLamports", value)[3], named)
	}
	for _, value := range []string{
		`null`, `{}`, `{"priorityLevelWithMaxLamports":null}`, `{"jitoTipLamports":0}`, `5000`, `"5000"`, `"auto"`, `{"jitoTipLamports":1000}`,
		`{"priorityLevelWithMaxLamports":{"maxLamports":1000000,"priorityLevel":"veryHigh","global":true}}`,
		fmt.Sprintf(`{"jitoTipLamportsWithPayer":{"lamports":5,"payer":%q}}`, wallet),
	} {
		f.permits(t, bodies(t, f, "prioritizationFeeLamports", value)[3])
	}
}

// TestHarmlessNamesAreAccepted with whatever value, and answered as without them.
func TestHarmlessNamesAreAccepted(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	for name := range harmless {
		for _, value := range []string{`true`, `false`, `null`, `"V2"`, `3`, `{"a":[1]}`, `[]`} {
			f.permits(t, bodies(t, f, name, value)[3])
		}
		for _, one := range append(bodies(t, f, name, "true"), urls(name, "true")...) {
			f.permits(t, one)
		}
		f.forbids(t, urls(name, "")[0], name+" is \"\"")
		f.forbids(t, form{"twice", http.MethodGet, urls(name, "true")[0].path + "&" + name + "=true", ""}, name+" is given twice")
	}
}

// TestUnknownNamesAreRefused on all routes, with the nearest name that is known, and without the
// value, which may be a key.
func TestUnknownNamesAreRefused(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	for name, nearest := range map[string]string{
		"desinationTokenAccount": "destinationTokenAccount", "nativeDestination": "nativeDestinationAccount", "slipage_bps": "slippage_bps", "SRC_MINT": "src_mint",
		"userpublickey": "userPublicKey", "Payer": "payer", "src_mint ": "src_mint", "dexes[]": "dexes", "excludedDexes": "exclude_dexes", "slippage": "slippage_bps",
		"fee-account": "fee_account", "zzz": "", "": "", "apiKey": "", "__proto__": "", "src_mint\x00": "src_mint", "ｐayer": "", "\u202eremark": "",
		strings.Repeat("x", 1000): "", "a\nb": "", "quote.bound": "",
	} {
		secret := "0123456789abcdef"
		message := "there is no parameter " + quoted(name)
		if nearest != "" {
			message += "; did you mean " + nearest + "?"
		}
		encoded, err := json.Marshal(name)
		require.NoError(t, err)
		for _, one := range append(bodies(t, f, "@", `"`+secret+`"`), urls(name, secret)...) {
			one.body = strings.Replace(one.body, `"@"`, string(encoded), 1)
			f.forbids(t, one, message)
			_, body := f.do(t, one.method, one.path, one.body)
			require.NotContains(t, string(body), secret)
		}
	}
	for _, path := range []string{"/api/v2/venues?x=1", "/api/v2/pools?mint=" + coin.String() + "&x=1", "/api/v2/pools?Mint=" + coin.String()} {
		f.forbids(t, form{"lists", http.MethodGet, path, ""}, "there is no parameter")
	}
	f.refused(t, http.MethodPost, routeSwap, `{"x":null}`, http.StatusBadRequest, `there is no parameter "x"`)
}

// TestParametersHaveOnePlace: those of a GET are in its URL, those of a POST in its body, and each
// is there once.
func TestParametersHaveOnePlace(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	post := bodies(t, f, "max_age_slots", "20")[0]
	f.permits(t, post)
	for _, more := range []string{"?max_age_slots=20", "?destinationTokenAccount=x", "?x", "?=1", "?user_account=" + wallet.String()} {
		f.refused(t, http.MethodPost, post.path+more, post.body, http.StatusBadRequest, "the parameters of POST belong into the body")
	}
	for _, path := range []string{query(coin, swaptest.WrappedSOL, "5"), strings.Replace(query(coin, swaptest.WrappedSOL, "5"), routeQuote, routeStream, 1),
		"/api/v2/venues", "/api/v2/pools?mint=" + coin.String()} {
		f.refused(t, http.MethodGet, path, `{"destinationTokenAccount":"x"}`, http.StatusBadRequest, "a GET takes no body")
	}
	for _, twice := range []string{`"payer":null,"payer":"x"`, `"amount_in":"5","amount_in":"6"`, `"feeAccount":"x","feeAccount":null`, `"useSharedAccounts":true,"useSharedAccounts":true`} {
		f.refused(t, http.MethodPost, routeSwap, "{"+twice+"}", http.StatusBadRequest, "is given twice")
	}
}

// TestListsHaveSeveralForms: as OpenAPI clients send them, with commas, and as an array.
func TestListsHaveSeveralForms(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	ask := query(coin, swaptest.WrappedSOL, "1000000")
	for _, more := range []string{
		"&dexes=raydium_cpmm&dexes=pumpswap", "&dexes=pumpswap,orca_whirlpool&dexes=raydium_cpmm", "&exclude_dexes=pumpswap&exclude_dexes=orca_whirlpool",
		"&excludeDexes=pumpswap&excludeDexes=orca_whirlpool", "&dexes=raydium_cpmm&dexes=raydium_cpmm",
	} {
		f.quoteOK(t, ask+more)
	}
	f.refused(t, http.MethodGet, ask+"&exclude_dexes=pumpswap&exclude_dexes=raydium_cpmm", "", http.StatusNotFound, "no pool trades")
	for _, more := range []string{"&dexes=raydium_cpmm&dexes=nowhere", "&dexes=raydium_cpmm&dexes=", "&dexes=&dexes=raydium_cpmm", strings.Repeat("&dexes=raydium_cpmm", maxDexes+1)} {
		f.refused(t, http.MethodGet, ask+more, "", http.StatusBadRequest, "dexes is ")
	}
	f.refused(t, http.MethodGet, ask+"&exclude_dexes=pumpswap&excludeDexes=pumpswap", "", http.StatusBadRequest, "two spellings")
	for name, values := range map[string][]string{
		"dexes": {`["raydium_cpmm"]`, `["pumpswap","Raydium CP"]`, `"raydium_cpmm,pumpswap"`}, "exclude_dexes": {`["pumpswap"]`}, "excludeDexes": {`["pumpswap","orca_whirlpool"]`},
	} {
		for _, value := range values {
			f.permits(t, bodies(t, f, name, value)[0])
			if forms := bodies(t, f, name, value); name == aliases[fieldExclude] {
				conforms(t, "JupiterSwapRequest", []byte(forms[1].body))
			} else {
				conforms(t, "SwapRequest", []byte(forms[0].body))
			}
		}
		for _, value := range []string{`[]`, `[1]`, `[["raydium_cpmm"]]`, `{}`, `["nowhere"]`, `[""]`, `[null]`} {
			f.forbids(t, bodies(t, f, name, value)[0], name)
		}
	}
}

// TestEachQuoteOfOursComesBack: every answer is a quote that POST takes, with all of its members.
// One that nobody answered is refused, wherever it is.
func TestEachQuoteOfOursComesBack(t *testing.T) {
	f := start(t, Config{slot: time.Millisecond, heartbeat: 10 * time.Millisecond}, onePool())
	for _, more := range []string{"", "&user_account=" + wallet.String(), "&format=jupiter", "&format=jupiter&user_account=" + wallet.String(), "&fee_bps=5"} {
		for _, mode := range []string{modeIn, modeOut} {
			amount := map[string]string{modeIn: fieldAmount, modeOut: fieldAmountOut}[mode]
			status, quote := f.do(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "", fieldMode, mode, amount, "1000000")+more, "")
			require.Equal(t, http.StatusOK, status, string(quote))
			for _, name := range []string{fieldQuote, aliases[fieldQuote]} {
				if strings.Contains(more, "fee_bps") {
					f.refused(t, http.MethodPost, routeSwap, fmt.Sprintf(`{%q:%s,"user_account":%q}`, name, quote, wallet), http.StatusBadRequest, "treasury is missing")
					continue
				}
				status, posted := f.do(t, http.MethodPost, routeSwap, fmt.Sprintf(`{%q:%s,"user_account":%q}`, name, quote, wallet))
				require.Equal(t, http.StatusOK, status, string(posted))
				f.permits(t, form{"what a POST answered", http.MethodPost, routeSwap, fmt.Sprintf(`{"quote":%s,"user_account":%q}`, posted, wallet)})
			}
			for where, named := range map[string]string{
				`{`: `"payer"`, `"swapInfo":{`: `routePlan.swapInfo has the member "payer"`, `"route":[{`: `route has the member "payer"`, `"venues":[{`: `venues has the member "payer"`,
			} {
				if !strings.Contains(string(quote), where) {
					continue
				}
				changed := strings.Replace(string(quote), where, where+`"payer":"x",`, 1)
				f.refused(t, http.MethodPost, routeSwap, fmt.Sprintf(`{"quote":%s,"user_account":%q}`, changed, wallet), http.StatusBadRequest, named)
			}
		}
	}
	_, quote := f.do(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "1000000"), "")
	for _, change := range [][3]string{
		{`"min_amount_out"`, `"Min_Amount_Out"`, `"Min_Amount_Out"`}, {`{`, `{"min_amount_out":"1",`, "min_amount_out is given twice"},
		{`{`, `{"inputMint":"x",`, "has the member"}, {`"slot":1000`, `"slot":{"payer":"x"}`, "quote.slot must be as this API answered it"},
		{`"routes":[`, `"routes":{"payer":[`, "the body must be"}, {`{`, `{"destinationTokenAccount":null,`, `"destinationTokenAccount"`},
		{`"warnings":[]`, `"warnings":{}`, "quote.warnings must be"}, {`"residual":[]`, `"residual":[[{"payer":1}]]`, "quote.residual must be"},
	} {
		changed := strings.Replace(string(quote), change[0], change[1], 1)
		require.NotEqual(t, string(quote), changed, change[0])
		f.refused(t, http.MethodPost, routeSwap, fmt.Sprintf(`{"quote":%s,"user_account":%q}`, changed, wallet), http.StatusBadRequest, change[2])
	}
}

// TestThePageNamesWhatIsRefused: the tables of docs/swap-reference.md are those of the code, and
// docs/swap.md names each parameter.
func TestThePageNamesWhatIsRefused(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "swap-reference.md"))
	require.NoError(t, err)
	parameters, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "swap.md"))
	require.NoError(t, err)
	table := func(title string, columns int) map[string][]string {
		_, text, found := strings.Cut(string(page), title)
		require.True(t, found, title)
		rows := map[string][]string{}
		for _, line := range strings.Split(strings.Split(strings.TrimSpace(text), "\n\n")[0], "\n")[2:] {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			require.Len(t, cells, columns, line)
			for i := range cells {
				cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
			}
			rows[cells[0]] = cells[1:]
		}
		return rows
	}
	want := map[string][]string{}
	for name, other := range refusedNames {
		accepted := strings.Join(other.accepted, ", ")
		want[name] = []string{accepted, other.instead}
	}
	require.Equal(t, want, table("Names that are refused:", 3))
	want = map[string][]string{}
	for name, why := range harmless {
		want[name] = []string{why}
	}
	require.Equal(t, want, table("Names that change nothing, and are accepted with any value:", 2))
	for _, field := range order {
		require.Regexp(t, regexp.MustCompile("`"+field+"`"), string(parameters))
	}
}
