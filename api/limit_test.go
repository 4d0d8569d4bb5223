package api_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/api"
)

func limited(c *api.Config) { c.RateLimits.Enabled = true }

// TestDocumentedLimits: each route passes exactly as many requests a minute as the specification
// says, on its own.
func TestDocumentedLimits(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log, limited).awaitReady()
	for _, c := range []struct {
		method, path, body string
		limit              int
	}{
		{http.MethodGet, "/tokens", "", 60},
		{http.MethodGet, "/tokens/" + a[0], "", 180},
		{http.MethodPost, "/tokens/batch", batchOf(1), 20},
		{http.MethodGet, "/img/" + a[0], "", 600},
		{http.MethodGet, "/nothing", "", 300},
	} {
		for i := range c.limit {
			r := n.do(c.method, c.path, c.body)
			require.NotEqual(t, 429, r.StatusCode, "%s %s, request %d", c.method, c.path, i)
			require.Equal(t, strconv.Itoa(c.limit), r.Header.Get("RateLimit-Limit"))
			require.Equal(t, strconv.Itoa(c.limit-i-1), r.Header.Get("RateLimit-Remaining"))
		}
		r := n.do(c.method, c.path, c.body)
		r.refused(t, 429)
		wait, err := strconv.Atoi(r.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, 60)
		require.Equal(t, "0", r.Header.Get("RateLimit-Remaining"))
		require.Equal(t, r.Header.Get("Retry-After"), r.Header.Get("RateLimit-Reset"))
		n.clock.Add(int64(time.Duration(wait) * time.Second))
		require.NotEqual(t, 429, n.do(c.method, c.path, c.body).StatusCode, "waiting as told is enough")
	}
}

func TestProbesAndStatusAreNotLimited(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, limited, func(c *api.Config) { c.RateLimits.Global = 1 }).awaitReady()
	for _, path := range []string{"/healthz", "/readyz", "/status"} {
		for range 5 {
			r := n.get(path)
			require.Equal(t, 200, r.StatusCode)
			require.Empty(t, r.Header.Get("RateLimit-Limit"))
		}
	}
	require.Equal(t, 200, n.get("/docs").StatusCode)
	n.get("/openapi.json").refused(t, 429)
	require.Equal(t, 204, n.do("OPTIONS", "/tokens", "").StatusCode, "a preflight is not counted")
}

func TestGlobalCountsAll(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log, limited, func(c *api.Config) { c.RateLimits.Global, c.RateLimits.GlobalCountsAll = 5, true }).awaitReady()
	for range 3 {
		require.Equal(t, 200, n.get("/tokens").StatusCode)
	}
	require.Equal(t, "1", n.get("/tokens/"+a[0]).Header.Get("RateLimit-Remaining"))
	require.Equal(t, 200, n.get("/img/"+a[0]).StatusCode)
	require.Contains(t, n.get("/tokens").refused(t, 429), "more than 5 requests within a minute")
}

func TestForwardedClients(t *testing.T) {
	log, _ := threeTokens()
	ask := func(n *node, forwarded string) int {
		return n.do(http.MethodGet, "/tokens", "", "X-Forwarded-For", forwarded).StatusCode
	}
	one := func(c *api.Config) { c.RateLimits.Search = 1 }
	direct := startNode(t, log, limited, one).awaitReady()
	require.Equal(t, 200, ask(direct, "203.0.113.1"))
	require.Equal(t, 429, ask(direct, "203.0.113.2"), "nobody may name himself")

	proxied := startNode(t, log, limited, one, func(c *api.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} }).awaitReady()
	require.Equal(t, 200, ask(proxied, "203.0.113.1"))
	require.Equal(t, 200, ask(proxied, "203.0.113.2"))
	require.Equal(t, 429, ask(proxied, "198.51.100.7, 203.0.113.1"))
	require.Equal(t, 200, ask(proxied, "2001:db8::1"))
	require.Equal(t, 429, ask(proxied, "2001:db8::2"), "one /64 is one client")
}

// The gateway limits its own clients, so its requests are not limited here; nor do they use up what
// the public of the same address has.
func TestInternalRequestsAreNotLimited(t *testing.T) {
	log, a := threeTokens()
	const token = "0123456789abcdef"
	n := startNode(t, log, limited, func(c *api.Config) { c.RateLimits.Batch, c.InternalToken = 1, token }).awaitReady()
	ask := func(presented string) response {
		return n.do(http.MethodPost, "/tokens/batch", `{"mints":["`+a[0]+`"]}`, internaltoken.Header, presented)
	}
	for range 3 {
		r := ask(token)
		require.Equal(t, 200, r.StatusCode)
		require.Empty(t, r.Header.Get("RateLimit-Limit"))
	}
	require.Equal(t, 200, ask("0123456789abcdeX").StatusCode)
	require.Equal(t, 429, ask("0123456789abcdeX").StatusCode, "a wrong token is the public")
	require.Equal(t, 200, ask(token).StatusCode)
	open := startNode(t, log, limited, func(c *api.Config) { c.RateLimits.Batch = 1 }).awaitReady()
	n = open
	require.Equal(t, 200, ask("").StatusCode)
	require.Equal(t, 429, ask("").StatusCode, "no token is configured, so none is right")
}
