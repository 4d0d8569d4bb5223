package listen

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// held is a server within limits whose places are all taken, by as many addresses as holders says.
func held(t *testing.T, limits Limits, holders int, serve func(net.Listener)) (addr string) {
	t.Helper()
	l, err := TCP(t.Context(), "127.0.0.1:0", "")
	require.NoError(t, err)
	bounded := Limited(l, limits)
	t.Cleanup(func() { _ = bounded.Close() })
	go serve(bounded)
	for n := range min(limits.Most, holders*limits.MostOfOne) {
		c := dial(t, l.Addr().String(), fmt.Sprintf("127.0.0.%d", 2+n/limits.MostOfOne))
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, http.StatusOK, r.StatusCode)
	}
	return l.Addr().String()
}

// answered sends a request on a connection of its own until the answer has the status: a machine
// that stands still for a second is too late for the reserve. more is what came after the answer.
func answered(t *testing.T, addr, request string, status int) (more []byte) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		c := dial(t, addr, "127.0.0.2")
		_, _ = io.WriteString(c, request)
		read := bufio.NewReader(c)
		r, err := http.ReadResponse(read, nil)
		if err == nil && r.StatusCode == status {
			require.True(t, r.Close, "%q leaves the connection open", request)
			_, err = io.Copy(io.Discard, r.Body)
			require.NoError(t, err)
			require.NoError(t, r.Body.Close())
			more, _ = io.ReadAll(read)
			require.NoError(t, c.Close())
			return more
		}
		require.True(t, time.Now().Before(deadline), "%q is not answered with %d", request, status)
	}
}

// servers answer every request with 200, by either of our HTTP libraries.
func servers() map[string]func(net.Listener) {
	return map[string]func(net.Listener){
		"net/http": func(l net.Listener) {
			server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
			_ = server.Serve(l)
		},
		"fasthttp": func(l net.Listener) {
			server := &fasthttp.Server{ReadTimeout: time.Hour, WriteTimeout: time.Hour, IdleTimeout: time.Hour, Handler: func(*fasthttp.RequestCtx) {}}
			_ = server.Serve(l)
		},
	}
}

// TestProbesAreAnsweredBeyondTheLimits: by the connections of one address, and by those of all; for
// two paths, once.
func TestProbesAreAnsweredBeyondTheLimits(t *testing.T) {
	for name, serve := range servers() {
		for holders, refusal := range map[int]int{1: http.StatusTooManyRequests, 3: http.StatusServiceUnavailable} {
			addr := held(t, Limits{Most: 6, MostOfOne: 2}, holders, serve)
			for request, want := range map[string]int{
				"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n":        http.StatusOK,
				"GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n": http.StatusOK,
				"GET /readyz HTTP/1.0\r\n\r\n":                    http.StatusOK,
				"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n": http.StatusOK,
				"GET /healthz/ HTTP/1.1\r\nHost: x\r\n\r\n":                      refusal,
				"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                              refusal,
				"POST /healthz HTTP/1.1\r\nHost: x\r\n\r\n":                      refusal,
				"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na": refusal,
				"\x00": refusal,
				"":     refusal, // after a second
			} {
				require.Empty(t, answered(t, addr, request, want), "%s, %d holders: %q is answered twice", name, holders, request)
			}
		}
	}
}

// TestSilentConnectionsGiveWayToProbes: whoever holds all connections and opens more of them
// without a word does not keep a probe of the same address from its answer.
func TestSilentConnectionsGiveWayToProbes(t *testing.T) {
	for _, serve := range servers() {
		addr := held(t, Limits{Most: 2, MostOfOne: 2}, 1, serve)
		for range 5 {
			for range 3 * Reserved {
				dial(t, addr, "127.0.0.2")
			}
			answered(t, addr, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusOK)
		}
	}
}

// TestTheReserveIsGivenBack: after any number of probes there is room for more.
func TestTheReserveIsGivenBack(t *testing.T) {
	for _, serve := range servers() {
		addr := held(t, Limits{Most: 2, MostOfOne: 2}, 1, serve)
		for range 5 * Reserved {
			answered(t, addr, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusOK)
		}
	}
}
