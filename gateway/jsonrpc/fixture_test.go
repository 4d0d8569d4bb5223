package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/mintlake/mintlake/access/keys"
)

// node is an upstream under a test's control.
type node struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	seen   []*http.Request
}

// isPoll says whether the pool asks, and not a client.
func isPoll(body string) bool { return strings.Contains(body, `"poll-`) }

func newNode(t *testing.T, h func(w http.ResponseWriter, body string)) *node {
	t.Helper()
	n := &node{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !isPoll(string(body)) {
			n.mu.Lock()
			n.bodies, n.seen = append(n.bodies, string(body)), append(n.seen, r)
			n.mu.Unlock()
		}
		h(w, string(body))
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *node) calls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.bodies)
}

// says answers each call with the same text, but for an id of 1 at its end, which becomes the
// call's.
func says(answer string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, body string) {
		text := answer
		if id := gjson.Get(body, "id").Raw; id != "" && strings.HasSuffix(text, `"id":1}`) {
			text = strings.TrimSuffix(text, `1}`) + id + "}"
		}
		fmt.Fprint(w, text)
	}
}

func fails(status int) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) { w.WriteHeader(status) }
}

const slot7 = `{"jsonrpc":"2.0","result":7,"id":1}`

type fixture struct {
	*Gateway
	url string
	key string
	log *lockedBuffer
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

func start(t *testing.T, cfg Config) *fixture {
	t.Helper()
	key, store := oneKey(t)
	f := startWith(t, cfg, store)
	f.key = key
	return f
}

// oneKey is a store with one key, and the key.
func oneKey(t *testing.T) (string, keys.Store) {
	t.Helper()
	key, hash := keys.Generate(keys.RPC)
	store, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.RPC, Hash: hash})
	require.NoError(t, err)
	return key, store
}

func startWith(t *testing.T, cfg Config, store keys.Store) *fixture {
	t.Helper()
	return startThrough(t, cfg, store, nil)
}

// startThrough reaches the upstreams through transport. No time is short unless the test says so: a
// machine may stand still for a while.
func startThrough(t *testing.T, cfg Config, store keys.Store, transport http.RoundTripper) *fixture {
	t.Helper()
	return startGateway(t, cfg, Deps{Keys: store, Transport: transport})
}

// startLocal answers some methods itself.
func startLocal(t *testing.T, cfg Config, store keys.Store, local Local) *fixture {
	t.Helper()
	return startGateway(t, cfg, Deps{Keys: store, Local: []Local{local}})
}

func startGateway(t *testing.T, cfg Config, deps Deps) *fixture {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	for _, limit := range []*time.Duration{&cfg.attemptTimeout, &cfg.timeout, &cfg.stopTimeout, &cfg.pollTimeout} {
		if *limit == 0 {
			*limit = 5 * time.Minute
		}
	}
	log := &lockedBuffer{}
	deps.Registerer = prometheus.NewRegistry()
	deps.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := New(cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-g.Ready()
	return &fixture{Gateway: g, url: "http://" + g.Addr(), log: log}
}

// post sends body with the key and the headers, given as pairs.
func (f *fixture) post(t *testing.T, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-KEY", f.key)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(out)
}

func getSlot(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"getSlot","params":[]}`, id)
}
