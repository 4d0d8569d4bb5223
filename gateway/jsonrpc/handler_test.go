package jsonrpc

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/message"
)

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
	f := start(t, Config{Upstreams: []string{n.URL}, maxBatch: 2, maxBodyBytes: 200})
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
			Error message.Error
			ID    any
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &parsed), answer)
		require.Equal(t, want.code, parsed.Error.Code, body)
		require.Contains(t, parsed.Error.Message, want.message)
	}
	for name, value := range map[string]string{"Content-Type": "text/plain", "Content-Encoding": "br"} {
		status, answer := f.post(t, getSlot(1), name, value)
		require.Equal(t, http.StatusUnsupportedMediaType, status)
		require.Contains(t, answer, name)
	}
	require.Zero(t, n.calls())
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
		if len(r.items) > 10 {
			t.Fatal("batch limit")
		}
		for _, it := range r.items {
			if it.call == nil {
				if !json.Valid(it.refused) {
					t.Fatalf("refusal is no JSON: %s", it.refused)
				}
				continue
			}
			made, err := newTask(it.call, nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := parseRequest(made.body, 10)
			if err != nil || again.batch || again.items[0].call.Method != it.call.Method {
				t.Fatalf("what goes upstream is not valid: %s: %v", made.body, err)
			}
		}
	})
}
