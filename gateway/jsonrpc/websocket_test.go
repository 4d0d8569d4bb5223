package jsonrpc

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
)

// sockets takes WebSockets and says whose they are.
type sockets struct{}

func (sockets) Serve(w http.ResponseWriter, _ *http.Request, client string, _ *keys.Lease) {
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, client)
}

// startSockets runs a gateway whose second address is open, with the log.
func startSockets(t *testing.T, cfg Config, store keys.Store) (*Gateway, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	g, err := New(cfg, Deps{Keys: store, Subscriptions: sockets{}, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	select {
	case <-g.Ready():
	case err := <-done:
		done <- err
		require.NoError(t, err)
	}
	return g, log
}

// handshake asks for a WebSocket; headers are pairs.
func handshake(t *testing.T, addr, query string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/"+query, nil)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// An address that others reach is closed while there is no key yet, also if the other address is
// open.
func TestAPublicAddressOfWebSocketsIsClosedWithoutAKey(t *testing.T) {
	store, _ := issuing(t)
	g, _ := startSockets(t, Config{Addr: "127.0.0.1:0", WebSocketAddr: "0.0.0.0:0"}, store)
	_, port, err := net.SplitHostPort(g.WebSocketAddr())
	require.NoError(t, err)
	for _, addr := range []string{"127.0.0.1:" + port, g.Addr()} {
		status, _ := handshake(t, addr, "", "Host", "localhost")
		require.Equal(t, http.StatusUnauthorized, status, addr)
	}
}

// WebSockets pass the same host, origin and key rules at both addresses.
func TestWebSocketsPassTheRulesOfTheAddress(t *testing.T) {
	key, store := oneKey(t)
	g, _ := startSockets(t, Config{Addr: "127.0.0.1:0", WebSocketAddr: "127.0.0.1:0", AllowedOrigins: []string{"https://app.example"}}, store)
	require.NotEmpty(t, g.WebSocketAddr())
	require.NotEqual(t, g.Addr(), g.WebSocketAddr())
	for _, addr := range []string{g.Addr(), g.WebSocketAddr()} {
		status, body := handshake(t, addr, "?apiKey="+key)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "key alice", body)
		for _, c := range []struct {
			want    int
			query   string
			headers []string
		}{
			{http.StatusOK, "", []string{"X-API-KEY", key}},
			{http.StatusOK, "", []string{"X-API-KEY", key, "Origin", "https://app.example"}},
			{http.StatusOK, "", []string{"X-API-KEY", key, "Origin", "http://" + addr}},
			{http.StatusForbidden, "", []string{"X-API-KEY", key, "Origin", "https://evil.example"}},
			{http.StatusForbidden, "", []string{"X-API-KEY", key, "Origin", "null"}},
			{http.StatusUnauthorized, "", nil},
			{http.StatusUnauthorized, "?apiKey=wrong", nil},
			{http.StatusNotFound, "x?apiKey=" + key, nil},
		} {
			status, _ := handshake(t, addr, c.query, c.headers...)
			require.Equal(t, c.want, status, "%s %v", c.query, c.headers)
		}
	}
	open, _ := startSockets(t, Config{Addr: "127.0.0.1:0"}, &keys.Static{})
	require.Empty(t, open.WebSocketAddr(), "port 0 has no port after it")
	status, body := handshake(t, open.Addr(), "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "address 127.0.0.1/32", body)
	status, _ = handshake(t, open.Addr(), "", "Host", "evil.example")
	require.Equal(t, http.StatusForbidden, status)
}

func TestTheSecondAddressIsForWebSocketsAlone(t *testing.T) {
	g, _ := startSockets(t, Config{Addr: "127.0.0.1:0", WebSocketAddr: "127.0.0.1:0"}, &keys.Static{})
	for path, want := range map[string]int{"/": http.StatusUpgradeRequired, "/healthz": http.StatusOK, "/x": http.StatusNotFound} {
		resp, err := http.Get("http://" + g.WebSocketAddr() + path)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, path)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.WebSocketAddr(), nil)
	require.NoError(t, err)
	req.Host = "evil.example"
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	f := start(t, Config{}) // a gateway without subscriptions
	status, _ := handshake(t, f.Addr(), "", "X-API-KEY", f.key)
	require.Equal(t, http.StatusNotFound, status)
}

// twoPorts finds a free port whose next one is free too, and keeps the next one taken.
func twoPorts(t *testing.T) (addr string, next net.Listener) {
	t.Helper()
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port := first.Addr().(*net.TCPAddr).Port
		next, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
		first.Close()
		if err == nil {
			t.Cleanup(func() { next.Close() })
			return first.Addr().String(), next
		}
	}
	t.Fatal("no two ports in a row are free")
	return "", nil
}

// Clients look at the port after the RPC address. When somebody else has it, RPC itself must go on.
func TestThePortAfterIsTheDefaultAndMayBeTaken(t *testing.T) {
	addr, _ := twoPorts(t)
	g, log := startSockets(t, Config{Addr: addr}, &keys.Static{})
	require.Empty(t, g.WebSocketAddr())
	require.Contains(t, log.String(), "is taken")
	require.Contains(t, log.String(), "--rpc-ws-addr")

	addr, next := twoPorts(t)
	next.Close()
	g, _ = startSockets(t, Config{Addr: addr}, &keys.Static{})
	require.Equal(t, next.Addr().String(), g.WebSocketAddr())

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	g, err = New(Config{Addr: "127.0.0.1:0", WebSocketAddr: taken.Addr().String()}, Deps{Keys: &keys.Static{}, Subscriptions: sockets{}})
	require.NoError(t, err)
	require.ErrorContains(t, g.Run(t.Context()), "is taken", "an address of its own was asked for")

	for _, off := range []Config{{Addr: "127.0.0.1:0", WebSocketAddr: WebSocketsOff}} {
		g, _ = startSockets(t, off, &keys.Static{})
		require.Empty(t, g.WebSocketAddr())
	}
	_, err = New(Config{Addr: "127.0.0.1:0", WebSocketAddr: "0.0.0.0:1"}, Deps{Keys: &keys.Static{}})
	require.ErrorContains(t, err, "--rpc-keys")
	require.Empty(t, portAfter("127.0.0.1:65535"))
	require.Equal(t, "[::1]:2", portAfter("[::1]:1"))
}
