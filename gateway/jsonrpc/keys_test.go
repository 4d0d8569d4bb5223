package jsonrpc

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/internal/testkit/livekeys"
)

// issuing is a store whose keys can be changed, and who changes them.
func issuing(t *testing.T) (keys.Store, *keys.Issuer) {
	t.Helper()
	return issuingTo(t, nil)
}

func issuingTo(t *testing.T, meter *usage.Meter) (keys.Store, *keys.Issuer) {
	t.Helper()
	live, issuer := livekeys.Start(t)
	return keys.Metered(live, &keys.Static{}, meter), issuer
}

// issued starts a gateway with one key.
func issued(t *testing.T, cfg Config, rules keys.Rules) (*fixture, *keys.Issuer) {
	t.Helper()
	store, issuer := issuing(t)
	key, _, err := issuer.Create(t.Context(), "", keys.RPC, "alice", "", rules)
	require.NoError(t, err)
	cfg.Upstreams = []string{newNode(t, says(slot7)).URL}
	f := startWith(t, cfg, store)
	f.key = key
	return f, issuer
}

// respond makes a call and returns status, body and headers.
func (f *fixture) respond(t *testing.T, body string, headers ...string) (int, string, http.Header) {
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
	buffer := make([]byte, 1<<16)
	n, _ := resp.Body.Read(buffer)
	return resp.StatusCode, string(buffer[:n]), resp.Header
}

func TestALimitOfAKeyIs429WithWhenToTryAgain(t *testing.T) {
	f, _ := issued(t, Config{}, keys.Rules{RequestsPerSecond: 3})
	status, _, headers := f.respond(t, getSlot(1))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "3", headers.Get("RateLimit-Limit"))
	require.Equal(t, "2", headers.Get("RateLimit-Remaining"))
	require.Equal(t, "1", headers.Get("RateLimit-Reset"))
	require.Empty(t, headers.Get("Retry-After"))
	// The calls of a batch count each, and a batch above the limit leaves a debt of some seconds.
	require.Eventually(t, func() bool {
		status, _, _ = f.respond(t, "["+strings.Repeat(getSlot(1)+",", 59)+getSlot(1)+"]")
		return status == http.StatusOK
	}, time.Minute, 400*time.Millisecond, "when nothing was used for a second")
	status, body, headers := f.respond(t, getSlot(7))
	require.Equal(t, http.StatusTooManyRequests, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32429,"message":"the API key is limited to 3 requests a second"},"id":7}`, body)
	require.Equal(t, "0", headers.Get("RateLimit-Remaining"))
	require.Regexp(t, `^1\d|20$`, headers.Get("Retry-After"))
	require.NotContains(t, f.log.String(), f.key)
}

func TestAKeyForCertainMethods(t *testing.T) {
	f, _ := issued(t, Config{}, keys.Rules{Methods: []string{"getSlot"}})
	status, body := f.post(t, `{"jsonrpc":"2.0","id":"x","method":"sendTransaction","params":[]}`)
	require.Equal(t, http.StatusForbidden, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32403,"message":"the API key is not for the method sendTransaction"},"id":"x"}`, body)
	status, body = f.post(t, "["+getSlot(1)+`,{"jsonrpc":"2.0","id":2,"method":"getBlock"},{"jsonrpc":"2.0","method":"getBlock"}]`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, strings.Count(body, "-32403"), body)
	require.Contains(t, body, `"result":7`)
	status, _ = f.post(t, `[{"jsonrpc":"2.0","id":2,"method":"getBlock"}]`)
	require.Equal(t, http.StatusForbidden, status)
}

func TestAKeyForCertainPagesAndAddresses(t *testing.T) {
	trusted, err := proxies.Parse([]string{"127.0.0.1"})
	require.NoError(t, err)
	f, _ := issued(t, Config{TrustedProxies: trusted}, keys.Rules{Origins: []string{"*.app.example"}, Addresses: []string{"203.0.113.0/24"}})
	for _, c := range []struct {
		origin, forwarded string
		status            int
	}{
		{"https://x.app.example", "203.0.113.7", 200},
		{"https://x.app.example", "6.6.6.6, 203.0.113.7", 200},
		{"https://x.app.example", "203.0.113.7, 6.6.6.6", 403},
		{"https://x.app.example", "", 403},
		{"https://evil.example", "203.0.113.7", 403},
		{"", "203.0.113.7", 403},
	} {
		headers := []string{"X-Forwarded-For", c.forwarded}
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		status, body := f.post(t, getSlot(1), headers...)
		require.Equal(t, c.status, status, "%+v %s", c, body)
		if status != http.StatusOK {
			require.Contains(t, body, "-32403")
			require.NotContains(t, body, f.key)
		}
	}
}

func TestARevokedKeyIs403(t *testing.T) {
	f, issuer := issued(t, Config{}, keys.Rules{})
	status, _ := f.post(t, getSlot(1))
	require.Equal(t, http.StatusOK, status)
	_, _, err := issuer.Revoke(t.Context(), "", keys.RPC, "alice", "")
	require.NoError(t, err)
	status, body := f.post(t, getSlot(1))
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "revoked")
	_, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(f.url, "http")+"/?apiKey="+f.key, nil)
	require.Error(t, err)
	require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, resp.StatusCode)
}
