package swap

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

var (
	coin   = swaptest.Named("coin")
	taxed  = swaptest.Named("taxed")
	wallet = solana.PublicKeyFromBytes(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
)

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

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
	if c == nil {
		return startOver(t, cfg, nil)
	}
	f := startOver(t, cfg, c)
	f.chain = c
	return f
}

// startOver starts a server over a JSON-RPC server; nil is none.
func startOver(t *testing.T, cfg Config, rpc RPC) *fixture {
	t.Helper()
	key, hash := keys.Generate(keys.Swap)
	store, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.Swap, Hash: hash})
	require.NoError(t, err)
	cfg.Addr = "127.0.0.1:0"
	// No time is short unless the test says so: a machine may stand still for a while.
	for _, limit := range []*time.Duration{&cfg.timeout, &cfg.stopTimeout} {
		if *limit == 0 {
			*limit = hang
		}
	}
	if cfg.Market.StateTTL == 0 {
		cfg.Market.StateTTL, cfg.Market.PoolsTTL = 1, 1
	}
	log := &lockedBuffer{}
	deps := Deps{Keys: store, RPC: rpc, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(log, nil))}
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
	return &fixture{s, nil, "http://" + s.Addr(), key, log}
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
	q := url.Values{fieldSource: {source.String()}, fieldTarget: {target.String()}, fieldAmount: {amount}, fieldSlippage: {"50"}}
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
	conforms(t, "Error", raw)
	require.EqualValues(t, status, e["statusCode"])
	require.Equal(t, http.StatusText(status), e["error"])
	require.Contains(t, e["message"], message)
}
