package listen

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/proxies"
)

// limitedServer accepts connections within limits and returns its address and what it accepted.
func limitedServer(t *testing.T, limits Limits) (addr string, accepted <-chan net.Conn) {
	t.Helper()
	l, err := TCP(t.Context(), "127.0.0.1:0", "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	limits.Body = func(status int, message string) []byte {
		return fmt.Appendf(nil, `{"status":%d,"message":%q}`, status, message)
	}
	conns := make(chan net.Conn, 100)
	go func() {
		bounded := Limited(l, limits)
		for {
			conn, err := bounded.Accept()
			if err != nil {
				return
			}
			conns <- conn
		}
	}()
	return l.Addr().String(), conns
}

// dial connects from an address of its own on loopback.
func dial(t *testing.T, addr, from string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// refused reads the response that a refused connection gets. What the client sends is not answered.
func refused(t *testing.T, conn net.Conn, status int) {
	t.Helper()
	_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, status, response.StatusCode)
	require.Equal(t, "5", response.Header.Get("Retry-After"))
}

// TestOneAddressHasAShareOfTheConnections: what it opens beyond is refused with the reason, and
// takes no other's place.
func TestOneAddressHasAShareOfTheConnections(t *testing.T) {
	refusals := make(chan int, 100)
	addr, accepted := limitedServer(t, Limits{Most: 5, MostOfOne: 3, Refused: func(status int) { refusals <- status }})
	var first net.Conn
	for range 3 {
		dial(t, addr, "127.0.0.2")
		first = <-accepted
	}
	refused(t, dial(t, addr, "127.0.0.2"), http.StatusTooManyRequests)
	for _, other := range []string{"127.0.0.3", "127.0.0.4"} {
		dial(t, addr, other)
		<-accepted
	}
	refused(t, dial(t, addr, "127.0.0.5"), http.StatusServiceUnavailable)
	require.Equal(t, []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}, []int{<-refusals, <-refusals})
	require.NoError(t, first.Close())
	require.Error(t, first.Close(), "which does not count twice")
	dial(t, addr, "127.0.0.5")
	<-accepted
	refused(t, dial(t, addr, "127.0.0.5"), http.StatusServiceUnavailable)
}

// TestATrustedProxyHasTheConnectionsOfAll: its connections are many clients'.
func TestATrustedProxyHasTheConnectionsOfAll(t *testing.T) {
	trusted, err := proxies.Parse([]string{"127.0.0.2"})
	require.NoError(t, err)
	addr, accepted := limitedServer(t, Limits{Most: 5, MostOfOne: 1, Proxies: trusted})
	for range 5 {
		dial(t, addr, "127.0.0.2")
		<-accepted
	}
	refused(t, dial(t, addr, "127.0.0.2"), http.StatusServiceUnavailable)
}
