package swap

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/swap/cpmm"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

var (
	coin   = swaptest.Named("coin")
	taxed  = swaptest.Named("taxed")
	wallet = solana.PublicKeyFromBytes(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
)

type fixture struct {
	*Server
	chain *swaptest.Chain
	url   string
	key   string
	log   *lockedBuffer
}

func chain() *swaptest.Chain {
	c := swaptest.New()
	c.Mint(coin, swaptest.TokenProgram, 6)
	c.Mint(taxed, swaptest.Token2022Program, 6, swaptest.TransferFee(100, 5_000)...)
	return c
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, cfg Config, c *swaptest.Chain) *fixture {
	t.Helper()
	key, hash := keys.Generate(keys.Swap)
	store, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.Swap, Hash: hash})
	require.NoError(t, err)
	cfg.Addr = "127.0.0.1:0"
	if cfg.Market.StateTTL == 0 {
		cfg.Market.StateTTL, cfg.Market.PoolsTTL, cfg.Market.NoPoolsTTL = 1, 1, 1
	}
	log := &lockedBuffer{}
	deps := Deps{Keys: store, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(log, nil))}
	if c != nil {
		deps.RPC = c
	}
	s, err := New(cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-s.Ready()
	return &fixture{s, c, "http://" + s.Addr(), key, log}
}

func (f *fixture) do(t *testing.T, method, path, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, f.url+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-API-KEY", f.key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, out
}

func query(source, target venue.Key, amount string, more ...string) string {
	q := url.Values{fieldSource: {venue.Text(source)}, fieldTarget: {venue.Text(target)}, fieldAmount: {amount}, fieldSlippage: {"50"}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/api/v2/quote?" + q.Encode()
}

func (f *fixture) quoteOK(t *testing.T, path string) Response {
	t.Helper()
	status, body := f.do(t, http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, status, string(body))
	var r Response
	require.NoError(t, json.Unmarshal(body, &r))
	return r
}

func (f *fixture) refused(t *testing.T, method, path, body string, status int, message string) {
	t.Helper()
	got, raw := f.do(t, method, path, body)
	require.Equal(t, status, got, string(raw))
	var e map[string]any
	require.NoError(t, json.Unmarshal(raw, &e), string(raw))
	require.Len(t, e, 3)
	require.EqualValues(t, status, e["statusCode"])
	require.Equal(t, http.StatusText(status), e["error"])
	require.Contains(t, e["message"], message)
}

// formula is the CPMM's, in numbers without a size.
func formula(amount, ri, ro, rate int64) string {
	fee := new(big.Int).Mul(big.NewInt(amount), big.NewInt(rate))
	fee.Add(fee, big.NewInt(999_999)).Quo(fee, big.NewInt(1_000_000))
	net := new(big.Int).Sub(big.NewInt(amount), fee)
	out := new(big.Int).Mul(net, big.NewInt(ro))
	return out.Quo(out, net.Add(net, big.NewInt(ri))).String()
}

func TestQuoteTakesTheBestPool(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "small", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	big := c.CPMM(swaptest.Pool{Name: "big", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 10_000})
	c.CPMM(swaptest.Pool{Name: "closed", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1, 1 << 60}, TradeRate: 1, Status: 4})
	c.CPMM(swaptest.Pool{Name: "future", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1, 1 << 60}, TradeRate: 1, OpenTime: 1_700_000_001})
	c.CPMM(swaptest.Pool{Name: "other pair", Mints: [2]venue.Key{taxed, swaptest.WrappedSOL}, Amounts: [2]uint64{1, 1 << 60}, TradeRate: 1})
	f := start(t, Config{}, c)

	r := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "100000"))
	require.Equal(t, formula(100_000, 1_000_000_000, 1_000_000_000, 10_000), r.AmountOut)
	require.Equal(t, "98990", r.AmountOut)
	require.Equal(t, "98495", r.MinAmountOut, "rounded down")
	require.Equal(t, []Leg{{cpmm.Name, venue.Text(big.Pool), r.SourceMint, r.TargetMint, "100000", "98990"}}, r.Route)
	require.Equal(t, []Fee{{venue.FeePool, venue.Text(coin), "1000"}}, r.Fees)
	require.EqualValues(t, 1, r.PriceImpactBps)
	require.EqualValues(t, 1000, r.Slot)
	require.Nil(t, r.Transaction)

	r = f.quoteOK(t, query(coin, swaptest.WrappedSOL, "100"))
	require.Equal(t, formula(100, 1_000_000, 1_000_000, 2500), r.AmountOut, "for a small trade the cheaper pool is the better one")
	_, body := f.do(t, http.MethodGet, query(coin, swaptest.WrappedSOL, "100"), "")
	require.NotContains(t, string(body), `"txn"`)
}

func TestTransferFeesCount(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	r := f.quoteOK(t, query(taxed, coin, "100000"))
	require.Equal(t, formula(99_000, 1_000_000_000, 1_000_000_000, 2500), r.AmountOut, "1 % never reaches the pool")
	require.Equal(t, "100000", r.AmountIn)
	require.Equal(t, Fee{venue.FeeTransfer, venue.Text(taxed), "1000"}, r.Fees[0])

	r = f.quoteOK(t, query(coin, taxed, "10000000"))
	gross := formula(10_000_000, 1_000_000_000, 1_000_000_000, 2500)
	var n int64
	fmt.Sscan(gross, &n)
	require.Equal(t, fmt.Sprint(n-5_000), r.AmountOut, "the mint's maximum")
}

func instructions(t *testing.T, text string) (*solana.Transaction, []string) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	require.LessOrEqual(t, len(raw), 1232)
	tx, err := solana.TransactionFromBytes(raw)
	require.NoError(t, err)
	require.Equal(t, solana.MessageVersionV0, tx.Message.GetVersion())
	require.Equal(t, []solana.Signature{{}}, tx.Signatures, "one signer, not signed yet")
	require.Equal(t, wallet, tx.Message.AccountKeys[0])
	require.Equal(t, solana.Hash(swaptest.Named("blockhash")), tx.Message.RecentBlockhash)
	var steps []string
	for _, ix := range tx.Message.Instructions {
		program := tx.Message.AccountKeys[ix.ProgramIDIndex]
		steps = append(steps, fmt.Sprintf("%s %d", program.String()[:5], ix.Data[0]))
	}
	return tx, steps
}

const (
	stepLimit  = "Compu 2"
	stepPrice  = "Compu 3"
	stepCreate = "AToke 1"
	stepSend   = "11111 2"
	stepSync   = "Token 17"
	stepSwap   = "CPMMo 143"
	stepClose  = "Token 9"
)

func TestTransactions(t *testing.T) {
	c := chain()
	sol := c.CPMM(swaptest.Pool{Name: "sol", Mints: [2]venue.Key{taxed, swaptest.WrappedSOL}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	c.CPMM(swaptest.Pool{Name: "tokens", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	user := wallet.String()

	r := f.quoteOK(t, query(coin, taxed, "100000", fieldUser, user))
	_, steps := instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap}, steps)
	require.False(t, r.Unwraps)
	require.EqualValues(t, 1150, r.LastValidBlockHeight)

	r = f.quoteOK(t, query(swaptest.WrappedSOL, taxed, "100000", fieldUser, user))
	tx, steps := instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepCreate, stepSend, stepSync, stepSwap, stepClose}, steps)
	swapIx := tx.Message.Instructions[6]
	metas, err := swapIx.ResolveInstructionAccounts(&tx.Message)
	require.NoError(t, err)
	side := 0
	if sol.Mints[1] == swaptest.WrappedSOL {
		side = 1
	}
	ata := func(mint, program venue.Key) solana.PublicKey {
		a, _, err := solana.FindProgramAddress([][]byte{wallet[:], program[:], mint[:]}, solana.SPLAssociatedTokenAccountProgramID)
		require.NoError(t, err)
		return a
	}
	var got []string
	for _, m := range metas {
		text := m.PublicKey.String()
		if m.IsSigner {
			text += " s"
		}
		if m.IsWritable {
			text += " w"
		}
		got = append(got, text)
	}
	text := venue.Text
	require.Equal(t, []string{
		user + " s w", text(cpmm.Authority), text(sol.Config), text(sol.Pool) + " w",
		ata(swaptest.WrappedSOL, swaptest.TokenProgram).String() + " w", ata(taxed, swaptest.Token2022Program).String() + " w",
		text(sol.Vaults[side]) + " w", text(sol.Vaults[1-side]) + " w", text(swaptest.TokenProgram), text(swaptest.Token2022Program),
		text(swaptest.WrappedSOL), text(taxed), text(sol.Observation) + " w",
	}, got)
	require.Len(t, swapIx.Data, 24)

	r = f.quoteOK(t, query(taxed, swaptest.WrappedSOL, "100000", fieldUser, user))
	_, steps = instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap, stepClose}, steps)
	require.True(t, r.Unwraps)

	// A user who keeps wrapped SOL keeps it wrapped.
	account := make([]byte, 165)
	c.Set(venue.Key(ata(swaptest.WrappedSOL, swaptest.TokenProgram)), swaptest.TokenProgram, account)
	r = f.quoteOK(t, query(taxed, swaptest.WrappedSOL, "100000", fieldUser, user))
	_, steps = instructions(t, r.Txn)
	require.Equal(t, []string{stepLimit, stepPrice, stepCreate, stepSwap}, steps)
	require.False(t, r.Unwraps)
	r = f.quoteOK(t, query(swaptest.WrappedSOL, taxed, "100000", fieldUser, user))
	_, steps = instructions(t, r.Txn)
	require.NotContains(t, steps, stepClose)

	status, body := f.do(t, http.MethodPost, "/api/v2/swap", fmt.Sprintf(`{"src_mint":%q,"dst_mint":%q,"amount_in":100000,"slippage_bps":"50","user_account":%q}`,
		text(swaptest.WrappedSOL), text(taxed), user))
	require.Equal(t, http.StatusOK, status, string(body))
	var posted Response
	require.NoError(t, json.Unmarshal(body, &posted))
	require.Equal(t, r, posted, "the same answer by POST")
}

func TestInvalidRequestsNameFieldValueAndRule(t *testing.T) {
	f := start(t, Config{}, chain())
	ok := query(coin, taxed, "1")
	for path, want := range map[string]string{
		"/api/v2/quote":                                                 `src_mint is "": must be a base58`,
		ok + "&src_mint=x":                                              "", // the first of two counts
		query(coin, coin, "1"):                                          "must differ from src_mint",
		query(coin, taxed, ""):                                          `amount_in is "": must be`,
		query(coin, taxed, "0"):                                         `amount_in is "0": must be`,
		query(coin, taxed, "-1"):                                        `amount_in is "-1"`,
		query(coin, taxed, "1.5"):                                       `amount_in is "1.5"`,
		query(coin, taxed, "18446744073709551616"):                      "18446744073709551615",
		query(coin, taxed, "1", fieldSlippage, ""):                      `slippage_bps is ""`,
		query(coin, taxed, "1", fieldSlippage, "10001"):                 "0 to 10000",
		query(coin, taxed, "1", fieldUser, "x"):                         `user_account is "x"`,
		query(coin, taxed, "1", fieldUser, venue.Text(cpmm.Authority)):  "off the curve",
		query(coin, taxed, "1", fieldSource, strings.Repeat("1", 5000)): "src_mint is",
	} {
		if want == "" {
			continue
		}
		f.refused(t, http.MethodGet, path, "", http.StatusBadRequest, want)
	}
	for body, want := range map[string]string{
		``: "JSON object", `[]`: "JSON object", `null`: "JSON object", `{} {}`: "one JSON object", `{"amount_in":true}`: "amount_in must be",
		`{"src_mint":1}`: `src_mint is "1"`,
	} {
		f.refused(t, http.MethodPost, "/api/v2/swap", body, http.StatusBadRequest, want)
	}
	noUser := fmt.Sprintf(`{"src_mint":%q,"dst_mint":%q,"amount_in":"1","slippage_bps":1}`, venue.Text(coin), venue.Text(taxed))
	f.refused(t, http.MethodPost, "/api/v2/swap", noUser, http.StatusBadRequest, "user_account is")
	f.refused(t, http.MethodPost, "/api/v2/swap", strings.Repeat(" ", 5000), http.StatusRequestEntityTooLarge, "Too Large")
	f.refused(t, http.MethodGet, "/api/v2/swap", "", http.StatusMethodNotAllowed, "use POST")
	f.refused(t, http.MethodPost, "/api/v2/quote", "", http.StatusMethodNotAllowed, "use GET")
	f.refused(t, http.MethodGet, "/api/v1/quote", "", http.StatusNotFound, "no such path")
	require.Zero(t, f.chain.Calls("getProgramAccounts"))
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

func TestNoRoute(t *testing.T) {
	c := chain()
	f := start(t, Config{}, c)
	f.refused(t, http.MethodGet, query(coin, taxed, "1"), "", http.StatusNotFound, "no pool trades")
	f.refused(t, http.MethodGet, query(coin, swaptest.Named("nothing"), "1"), "", http.StatusNotFound, "no such account")
	hook := swaptest.Named("hook")
	c.Mint(hook, swaptest.Token2022Program, 6, swaptest.Extension(14, bytes.Repeat([]byte{1}, 64))...)
	c.CPMM(swaptest.Pool{Name: "hooked", Mints: [2]venue.Key{hook, coin}, Amounts: [2]uint64{1000, 1000}})
	f.refused(t, http.MethodGet, query(coin, hook, "1"), "", http.StatusNotFound, "hook program")

	p := c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f.refused(t, http.MethodGet, query(coin, taxed, "1"), "", http.StatusNotFound, "nothing would come out")
	f.refused(t, http.MethodGet, query(coin, taxed, "18446744073709551615"), "", http.StatusNotFound, "64 bits")
	c.Edit(p.Pool, func(data []byte) { data[329] = 4 })
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusNotFound, "swaps are disabled")
	c.Edit(p.Pool, func(data []byte) { data[329] = 0; data[0]++ })
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusNotFound, "no pool")
}

func TestNodeAway(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f := start(t, Config{}, c)
	c.Fail(errors.New("connection refused by S3CRET"))
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "does not answer")
	c.Fail(nil)
	f.quoteOK(t, query(coin, taxed, "1000"))

	f = start(t, Config{}, nil)
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "--rpc-upstream")
	f.refused(t, http.MethodGet, "/readyz", "", http.StatusServiceUnavailable, "--rpc-upstream")

	f = start(t, Config{Timeout: 50 * time.Millisecond}, c)
	release := c.Hold()
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "in time")
	release()
}

func TestRequestsForOnePairShareARead(t *testing.T) {
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000}, TradeRate: 2500})
	f := start(t, Config{Market: market.Config{StateTTL: time.Hour}}, c)
	release := c.Hold()
	var wg sync.WaitGroup
	for i := range 20 {
		path := query(coin, taxed, "1000")
		if i%2 == 0 {
			path = query(taxed, coin, "1000")
		}
		wg.Go(func() { f.quoteOK(t, path) })
	}
	require.Eventually(t, func() bool { return len(f.slots) == 20 }, 5*time.Second, time.Millisecond)
	release()
	wg.Wait()
	require.Equal(t, 1, c.Calls("getProgramAccounts"))
	require.Equal(t, 1, c.Calls("getMultipleAccounts"))
}

func TestInFlightIsBounded(t *testing.T) {
	c := chain()
	f := start(t, Config{MaxInFlight: 1}, c)
	release := c.Hold()
	var wg sync.WaitGroup
	wg.Go(func() { f.do(t, http.MethodGet, query(coin, taxed, "1000"), "") })
	require.Eventually(t, func() bool { return len(f.slots) == 1 }, 5*time.Second, time.Millisecond)
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusServiceUnavailable, "in flight")
	release()
	wg.Wait()
}

func TestManyPoolsAreReadInSeveralCalls(t *testing.T) {
	c := chain()
	for i := range 60 {
		c.CPMM(swaptest.Pool{Name: fmt.Sprint("p", i), Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000, 1_000_000 + uint64(i)*1000}, TradeRate: 2500})
	}
	f := start(t, Config{}, c)
	f.quoteOK(t, query(coin, taxed, "100000"))
	require.Equal(t, 3, c.Calls("getMultipleAccounts"), "24 pools of 4 accounts a call")
}

func TestOpenServerAnswersToLoopbackNamesOnly(t *testing.T) {
	s, err := New(Config{Addr: "127.0.0.1:0"}, Deps{Keys: &keys.Static{}, RPC: chain()})
	require.NoError(t, err)
	for host, want := range map[string]int{"localhost:1": 404, "127.0.0.1": 404, "evil.example": 403} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, query(coin, taxed, "1"), nil)
		req.Host = host
		req.Header.Set("X-Forwarded-Host", "localhost")
		resp, err := s.app.Test(req)
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

func TestATakenPortIsOneLine(t *testing.T) {
	f := start(t, Config{}, nil)
	s, err := New(Config{Addr: f.Addr()}, Deps{Keys: &keys.Static{}})
	require.NoError(t, err)
	err = s.Run(t.Context())
	require.ErrorContains(t, err, "--swap-addr")
	require.NotContains(t, err.Error(), "\n")
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"src_mint":"So11111111111111111111111111111111111111112","dst_mint":"a","amount_in":1,"slippage_bps":"1","user_account":"x"}`), true)
	f.Add([]byte(`{"amount_in":1e400}`), false)
	f.Fuzz(func(t *testing.T, body []byte, needUser bool) {
		fields, err := bodyFields(body)
		if err != nil {
			return
		}
		r, err := parseRequest(func(field string) string { return fields[field] }, needUser)
		if err == nil && (r.amount == 0 || r.slippage > maxSlippage || r.source == r.target || (needUser && r.user == nil)) {
			t.Fatalf("accepted %s", body)
		}
	})
}
