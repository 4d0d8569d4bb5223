package hosts

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuard(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9600}
	g := New(loopback, "node.internal:9600", []string{"Registry.example", "*.lake.example", "fe80::1"})
	for _, host := range []string{
		"127.0.0.1", "127.0.0.1:9600", "localhost:1", "LOCALHOST.", "[::1]:9600", "::1", "127.8.8.8:1", "a.localhost", "[::ffff:127.0.0.1]:1",
		"node.internal", "registry.example:443", "registry.example.", "a.lake.example", "[fe80::1]:2", "",
	} {
		require.True(t, g.Admit(host), host)
	}
	for _, host := range []string{
		"evil.example", "evil.example:9600", "127.0.0.1.evil.example", "localhost.evil.example", "lake.example", "evillake.example", "0.0.0.0", "10.0.0.1:9600",
		"notlocalhost", "registry.example.evil", ":9600", "[", "::",
	} {
		require.False(t, g.Admit(host), host)
	}
	// Prometheus asks other listeners by address or by the name of a service.
	for _, ip := range []net.IP{net.IPv4zero, net.IPv6unspecified, net.IPv4(10, 0, 0, 1)} {
		require.True(t, New(&net.TCPAddr{IP: ip}, "0.0.0.0:9600", nil).Admit("mintlake.default.svc:9600"))
	}
	require.True(t, New(loopback, "127.0.0.1:0", []string{"*"}).Admit("evil.example"))
}

func TestWrap(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	server.Config.Handler = New(server.Listener.Addr(), "127.0.0.1:0", nil).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{"": 200, "evil.example": 403, "localhost": 200} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		r.Host = host
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, host)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check([]string{"a.example", "*.b.example", "*", "::1", "10.0.0.1"}))
	for _, bad := range []string{"", "https://a.example", "a.example:80", "a/b", "a*b", "*.", "a b"} {
		require.Error(t, Check([]string{bad}), bad)
	}
}

func FuzzAdmit(f *testing.F) {
	f.Add("localhost:1")
	f.Add("[::1")
	g := New(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, "", nil)
	f.Fuzz(func(_ *testing.T, host string) { g.Admit(host) })
}
