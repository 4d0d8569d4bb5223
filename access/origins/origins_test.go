package origins_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/origins"
)

func TestAllows(t *testing.T) {
	s, err := origins.Parse([]string{"https://App.example", "http://localhost:*", "http://[::1]:*", "https://x.example:8443", "https://y.example:443"})
	require.NoError(t, err)
	for origin, want := range map[string]bool{
		"https://app.example": true, "HTTPS://APP.example": true, "https://app.example:443": true, "https://y.example": true,
		"https://x.example:8443": true, "http://localhost": true, "http://localhost:3000": true, "http://[::1]:5173": true,
		"http://app.example": false, "https://app.example:8443": false, "https://app.example.evil.example": false, "https://localhost:3000": false,
		"http://localhost.evil.example:80": false, "https://x.example": false, "null": false, "": false, "http://localhost:*": false,
		"https://evil.example": false, "://": false, "http://user@localhost:3000": false,
	} {
		require.Equal(t, want, s.Allows(origin), origin)
	}
	var none *origins.Set
	require.False(t, none.Allows("https://app.example"))
	for _, list := range [][]string{nil, {"none"}} {
		s, err := origins.Parse(list)
		require.NoError(t, err)
		require.False(t, s.Allows("http://localhost"))
	}
	any, err := origins.Parse([]string{"*"})
	require.NoError(t, err)
	require.True(t, any.Allows("https://evil.example"))
	require.True(t, any.Allows("null"))
	machine, err := origins.Parse(origins.ThisMachine())
	require.NoError(t, err)
	require.True(t, machine.Allows("http://127.0.0.1:5173"))
}

func TestParseRefuses(t *testing.T) {
	for _, list := range [][]string{{"app.example"}, {"https://app.example/"}, {"https://app.example/x"}, {"*", "https://a.example"}, {"none", "https://a.example"},
		{"https://*.example"}, {"https://a.example:1:*"}, {"https://a.example?x"}, {""}, {"localhost:3000"}} {
		_, err := origins.Parse(list)
		require.Error(t, err, list)
	}
}

func TestHeaders(t *testing.T) {
	rule := origins.CORS{Methods: "POST", Allowed: "X-API-KEY", Exposed: "Retry-After"}
	headers := func(list []string, method, origin string) http.Header {
		s, err := origins.Parse(list)
		require.NoError(t, err)
		h := http.Header{}
		s.Headers(rule, method, origin, h.Set)
		return h
	}
	one := []string{"https://app.example"}
	require.Equal(t, http.Header{"Vary": {"Origin"}, "Access-Control-Allow-Origin": {"https://app.example"}, "Access-Control-Allow-Methods": {"POST"},
		"Access-Control-Allow-Headers": {"X-API-KEY"}, "Access-Control-Max-Age": {"86400"}}, headers(one, "OPTIONS", "https://app.example"))
	require.Equal(t, http.Header{"Vary": {"Origin"}, "Access-Control-Allow-Origin": {"https://app.example"}, "Access-Control-Expose-Headers": {"Retry-After"}},
		headers(one, "POST", "https://app.example"))
	require.Equal(t, http.Header{"Vary": {"Origin"}}, headers(one, "OPTIONS", "https://evil.example"))
	require.Equal(t, http.Header{"Vary": {"Origin"}}, headers(nil, "OPTIONS", "https://evil.example"))
	require.Equal(t, "*", headers([]string{"*"}, "GET", "https://evil.example").Get("Access-Control-Allow-Origin"))
}

func TestAllowsRequest(t *testing.T) {
	s, err := origins.Parse([]string{"https://app.example"})
	require.NoError(t, err)
	for origin, want := range map[string]bool{"": true, "https://app.example": true, "http://stream.example:10000": true, "https://evil.example": false, "null": false, "http://app.example": false} {
		r := &http.Request{Host: "stream.example:10000", Header: http.Header{}}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		require.Equal(t, want, s.AllowsRequest(r), origin)
	}
}
