package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/keys"
)

// node is an upstream under a test's control.
type node struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	seen   []*http.Request
}

func newNode(t *testing.T, h func(w http.ResponseWriter, body string)) *node {
	t.Helper()
	n := &node{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != probeBody {
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

func says(answer string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, _ string) { fmt.Fprint(w, answer) }
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
	key, hash := keys.Generate(keys.RPC)
	store, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.RPC, Hash: hash})
	require.NoError(t, err)
	f := startWith(t, cfg, store)
	f.key = key
	return f
}

func startWith(t *testing.T, cfg Config, store keys.Store) *fixture {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	log := &lockedBuffer{}
	g, err := New(cfg, Deps{Keys: store, Registerer: prometheus.NewRegistry(),
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
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

func TestForwardsACallAndNothingElse(t *testing.T) {
	n := newNode(t, says(slot7))
	f := start(t, Config{Upstreams: []string{n.URL + "/path?apiKey=OURS"}})
	status, body := f.post(t, ` {"extra":1,"params":[ {"a":9007199254740993} ],"method":"getSlot","id":"x","jsonrpc":"2.0"}`,
		"Cookie", "c=1", "Authorization", "Bearer secret", "X-Forwarded-For", "1.2.3.4")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, slot7, body)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"x","method":"getSlot","params":[{"a":9007199254740993}]}`, n.bodies[0])
	require.Contains(t, n.bodies[0], "9007199254740993", "numbers are not touched")
	require.Equal(t, "/path?apiKey=OURS", n.seen[0].URL.String())
	for name := range n.seen[0].Header {
		require.Contains(t, []string{"Content-Type", "Content-Length", "User-Agent", "Accept-Encoding"}, name)
	}
}

func TestKeyInHeaderOrQuery(t *testing.T) {
	n := newNode(t, says(slot7))
	f := start(t, Config{Upstreams: []string{n.URL}})
	query := func(q string) int {
		resp, err := http.Post(f.url+q, "application/json", strings.NewReader(getSlot(1)))
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, query("/?apiKey="+f.key))
	require.Equal(t, http.StatusUnauthorized, query("/?apiKey=wrong"))
	require.Equal(t, http.StatusUnauthorized, query("/?apikey="+f.key))
	require.Equal(t, http.StatusUnauthorized, query("/"))
	require.Equal(t, 1, n.calls())
	require.Empty(t, n.seen[0].URL.RawQuery)

	status, body := f.post(t, getSlot(1), "X-API-KEY", "ml_rpc_wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32401,"message":"the API key is not valid"},"id":null}`, body)
	require.NotContains(t, f.log.String(), f.key)
}

func TestWhatIsRefusedNeverGoesUpstream(t *testing.T) {
	n := newNode(t, says(slot7))
	f := start(t, Config{Upstreams: []string{n.URL}, MaxBatch: 2, MaxBodyBytes: 200})
	for body, want := range map[string]struct {
		status, code int
		message      string
	}{
		``:                                       {400, -32700, "no valid JSON"},
		`{`:                                      {400, -32700, "no valid JSON"},
		`7`:                                      {400, -32600, "must be an object"},
		`[]`:                                     {400, -32600, "empty"},
		`[1,2,3]`:                                {400, -32600, "at most 2"},
		`{"id":1,"method":"getSlot"}`:            {400, -32600, "jsonrpc must be"},
		`{"jsonrpc":"2.0","id":1}`:               {400, -32600, "method must be"},
		`{"jsonrpc":"2.0","id":{},"method":"m"}`: {400, -32600, "id must be"},
		`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`: {400, -32600, "params must be"},
		`{"jsonrpc":"2.0","id":1,"method":7}`:                {400, -32600, "method must be"},
		strings.Repeat(" ", 201):                             {413, -32600, "over 200 bytes"},
	} {
		status, answer := f.post(t, body)
		require.Equal(t, want.status, status, body)
		var parsed struct {
			Error rpcError
			ID    any
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &parsed), answer)
		require.Equal(t, want.code, parsed.Error.Code, body)
		require.Contains(t, parsed.Error.Message, want.message)
	}
	status, _ := f.post(t, getSlot(1), "Content-Type", "text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, status)
	require.Zero(t, n.calls())
}

func TestBatchKeepsItsValidCalls(t *testing.T) {
	n := newNode(t, func(w http.ResponseWriter, body string) {
		var calls []call
		if json.Unmarshal([]byte(body), &calls) != nil {
			fmt.Fprint(w, slot7) // the probe
			return
		}
		out := []string{}
		for _, c := range calls {
			out = append(out, fmt.Sprintf(`{"jsonrpc":"2.0","result":%q,"id":%s}`, c.Method, c.ID))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(out, ","))
	})
	f := start(t, Config{Upstreams: []string{n.URL}})
	status, body := f.post(t, `[`+getSlot(1)+`,{"jsonrpc":"1.0","id":2,"method":"a"},`+getSlot(3)+`,5]`)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `[{"jsonrpc":"2.0","result":"getSlot","id":1},{"jsonrpc":"2.0","result":"getSlot","id":3},
		{"jsonrpc":"2.0","error":{"code":-32600,"message":"jsonrpc must be \"2.0\""},"id":2},
		{"jsonrpc":"2.0","error":{"code":-32600,"message":"a call must be an object"},"id":null}]`, body)
	_, body = f.post(t, `[1]`)
	require.JSONEq(t, `[{"jsonrpc":"2.0","error":{"code":-32600,"message":"a call must be an object"},"id":null}]`, body)
	require.Equal(t, 1, n.calls())
}

func TestFailsOverAndPrefersTheFirst(t *testing.T) {
	for name, trouble := range map[string]func(http.ResponseWriter, string){
		"502":     fails(http.StatusBadGateway),
		"429":     fails(http.StatusTooManyRequests),
		"our key": fails(http.StatusUnauthorized),
		"redirect": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://x")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"html":         says("<html>"),
		"hang up":      func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
		"unhealthy":    says(`{"jsonrpc":"2.0","error":{"code":-32005,"message":"behind"},"id":1}`),
		"cut off":      func(w http.ResponseWriter, _ string) { w.Header().Set("Content-Length", "99"); fmt.Fprint(w, "{") },
		"slow to come": func(http.ResponseWriter, string) { time.Sleep(300 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			var healthy atomic.Bool
			healthy.Store(true)
			first := newNode(t, func(w http.ResponseWriter, body string) {
				if healthy.Load() {
					fmt.Fprint(w, slot7)
					return
				}
				trouble(w, body)
			})
			second := newNode(t, says(`{"jsonrpc":"2.0","result":8,"id":1}`))
			f := start(t, Config{Upstreams: []string{first.URL, second.URL}, ProbeInterval: 20 * time.Millisecond, AttemptTimeout: 100 * time.Millisecond})
			_, body := f.post(t, getSlot(1))
			require.Contains(t, body, "7")
			healthy.Store(false)
			for range 3 {
				status, body := f.post(t, getSlot(1))
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, body, "8")
			}
			require.LessOrEqual(t, first.calls(), 2, "a server in trouble is asked by the probe only")
			healthy.Store(true)
			require.Eventually(t, func() bool {
				_, body := f.post(t, getSlot(1))
				return strings.Contains(body, "7")
			}, 3*time.Second, 20*time.Millisecond)
		})
	}
}

func TestErrorsOfTheCallAreAnswers(t *testing.T) {
	for _, status := range []int{200, 400} {
		n := newNode(t, func(w http.ResponseWriter, _ string) {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad"},"id":1}`)
		})
		other := newNode(t, says(slot7))
		f := start(t, Config{Upstreams: []string{n.URL, other.URL}})
		_, body := f.post(t, getSlot(1))
		require.Contains(t, body, "-32602")
		require.Zero(t, other.calls())
	}
}

func TestAllUpstreamsAway(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	n := newNode(t, fails(http.StatusServiceUnavailable))
	f := start(t, Config{Upstreams: []string{dead.URL + "/S3CRET", n.URL + "?apiKey=S3CRET"}})
	status, body := f.post(t, getSlot(4))
	require.Equal(t, http.StatusBadGateway, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32005,"message":"no upstream is available: 2 configured, none answered; try again"},"id":4}`, body)
	require.Contains(t, f.log.String(), "in trouble")
	require.NotContains(t, f.log.String(), "S3CRET")

	resp, err := http.Get(f.url + "/readyz")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)

	f = start(t, Config{})
	status, body = f.post(t, getSlot(4))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "--rpc-upstream")
	require.Contains(t, body, `"id":4`)
}

func TestTheNodesOwnWordsWhenAllAreUnhealthy(t *testing.T) {
	n := newNode(t, says(`{"jsonrpc":"2.0","error":{"code":-32005,"message":"behind by 42 slots"},"id":1}`))
	f := start(t, Config{Upstreams: []string{n.URL, n.URL}})
	_, body := f.post(t, getSlot(1))
	require.Contains(t, body, "behind by 42 slots")
}

func TestAirdropsAreNotRepeatedTransactionsAre(t *testing.T) {
	for method, want := range map[string]int{"requestAirdrop": 0, "sendTransaction": 1} {
		first := newNode(t, func(w http.ResponseWriter, body string) {
			if body == probeBody {
				fmt.Fprint(w, slot7)
				return
			}
			panic(http.ErrAbortHandler) // it may well have taken it
		})
		second := newNode(t, says(slot7))
		f := start(t, Config{Upstreams: []string{first.URL, second.URL}})
		f.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":["x"]}`)
		require.Equal(t, want, second.calls(), method)
	}
}

func TestLargeAnswersFlowThrough(t *testing.T) {
	proceed := make(chan struct{})
	n := newNode(t, func(w http.ResponseWriter, body string) {
		if body == probeBody {
			fmt.Fprint(w, slot7)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":"%s`, strings.Repeat("a", 1<<20))
		w.(http.Flusher).Flush()
		<-proceed
		fmt.Fprint(w, `"}`)
	})
	f := start(t, Config{Upstreams: []string{n.URL}})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(getSlot(1)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-KEY", f.key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadFull(resp.Body, make([]byte, 1<<19))
	require.NoError(t, err, "the first half comes while the second is still to be made")
	close(proceed)
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(rest), `a"}`))

	f = start(t, Config{Upstreams: []string{n.URL}, MaxAnswerBytes: 100 << 10})
	req, _ = http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(getSlot(1)))
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {f.key}}
	resp, err = http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.Error(t, err, "an answer that is cut off must not look whole")
}

func TestClientThatLeavesEndsTheCall(t *testing.T) {
	ended := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == probeBody {
			fmt.Fprint(w, slot7)
			return
		}
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(upstream.Close)
	f := start(t, Config{Upstreams: []string{upstream.URL}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/?apiKey="+f.key, strings.NewReader(getSlot(1)))
	req.Header.Set("Content-Type", "application/json")
	_, err := http.DefaultClient.Do(req)
	require.Error(t, err)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the upstream still works for nobody")
	}
}

func TestTimeoutAndConcurrencyAreBounded(t *testing.T) {
	n := newNode(t, func(w http.ResponseWriter, body string) {
		if body == probeBody {
			fmt.Fprint(w, slot7)
			return
		}
		time.Sleep(400 * time.Millisecond)
	})
	f := start(t, Config{Upstreams: []string{n.URL}, Timeout: 200 * time.Millisecond, MaxConcurrent: 1})
	var wg sync.WaitGroup
	var busy, late atomic.Int64
	for range 4 {
		wg.Go(func() {
			switch status, _ := f.post(t, getSlot(1)); status {
			case http.StatusServiceUnavailable:
				busy.Add(1)
			case http.StatusGatewayTimeout:
				late.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 4, busy.Load()+late.Load())
	require.GreaterOrEqual(t, late.Load(), int64(1))
	require.GreaterOrEqual(t, busy.Load(), int64(1))
}

func TestNotificationsGetNoContent(t *testing.T) {
	n := newNode(t, says(""))
	f := start(t, Config{Upstreams: []string{n.URL}})
	status, body := f.post(t, `{"jsonrpc":"2.0","method":"getSlot"}`)
	require.Equal(t, http.StatusNoContent, status)
	require.Empty(t, body)
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"getSlot"}`, n.bodies[0])
}

func TestOpenOnLoopbackOnly(t *testing.T) {
	empty, err := keys.NewStatic()
	require.NoError(t, err)
	_, err = New(Config{Addr: "0.0.0.0:0"}, Deps{Keys: empty})
	require.ErrorContains(t, err, "--rpc-keys")

	n := newNode(t, says(slot7))
	f := startWith(t, Config{Upstreams: []string{n.URL}}, empty)
	status, _ := f.post(t, getSlot(1))
	require.Equal(t, http.StatusOK, status)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(getSlot(1)))
	req.Header.Set("Content-Type", "application/json")
	req.Host = "evil.example"
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}

func TestCORSForConfiguredOriginsOnly(t *testing.T) {
	f := start(t, Config{AllowedOrigins: []string{"https://app.example"}})
	preflight := func(origin string) http.Header {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodOptions, f.url, nil)
		req.Header.Set("Origin", origin)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusNoContent, resp.StatusCode)
		return resp.Header
	}
	require.Equal(t, "https://app.example", preflight("https://app.example").Get("Access-Control-Allow-Origin"))
	require.Contains(t, preflight("https://app.example").Get("Access-Control-Allow-Headers"), "X-API-KEY")
	require.Empty(t, preflight("https://evil.example").Get("Access-Control-Allow-Origin"))
	_, err := New(Config{Addr: "127.0.0.1:0", AllowedOrigins: []string{"app.example/x"}}, Deps{Keys: &keys.Static{}})
	require.ErrorContains(t, err, "allowed origin")
}

func TestOtherPathsAndMethods(t *testing.T) {
	f := start(t, Config{})
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/readyz": 503, "/x": 404} {
		resp, err := http.Get(f.url + path)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, path)
		require.True(t, json.Valid(body))
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, f.url, nil)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
}

func TestATakenPortIsOneLine(t *testing.T) {
	f := start(t, Config{})
	g, err := New(Config{Addr: f.Addr()}, Deps{Keys: &keys.Static{}})
	require.NoError(t, err)
	err = g.Run(t.Context())
	require.ErrorContains(t, err, "--rpc-addr")
	require.NotContains(t, err.Error(), "\n")
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{getSlot(1), "[" + getSlot(1) + ",1]", `{"id":null}`, `[[]]`, ` `, `{"jsonrpc":"2.0","id":"a","method":"m","params":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(body, 10)
		if err != nil {
			return
		}
		if len(r.calls)+len(r.refused) > 10 {
			t.Fatal("batch limit")
		}
		for _, refused := range r.refused {
			if !json.Valid(refused) {
				t.Fatalf("refusal is no JSON: %s", refused)
			}
		}
		if len(r.calls) == 0 {
			return
		}
		out, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseRequest(out, 10)
		if err != nil || len(again.calls) != len(r.calls) || len(again.refused) != 0 {
			t.Fatalf("what goes upstream is not valid: %s: %v", out, err)
		}
	})
}
