package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
)

// dial opens a connection from an address of this machine's own.
func dial(t *testing.T, n *node, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", n.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a request on an open connection and reads the answer.
func ask(t *testing.T, c net.Conn, path string) (status int, err error) {
	t.Helper()
	if _, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return 0, err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return r.StatusCode, err
}

// closed waits until the server has closed the connection.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(hang)))
	_, err := io.Copy(io.Discard, c)
	if timeout, ok := err.(net.Error); ok { //nolint:errorlint // as net makes it
		require.False(t, timeout.Timeout(), "still open")
	}
}

func (n *node) metric(name string) float64 {
	n.t.Helper()
	families, err := n.registry.Gather()
	require.NoError(n.t, err)
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// patient closes no connection because the machine stood still for a while.
func patient(c *api.Config) { c.ReadTimeout, c.WriteTimeout, c.IdleTimeout = hang, hang, hang }

// TestIdleConnectionsGiveWay: a node that is full closes those that have waited longest, idle,
// silent or slow, and answers who asks.
func TestIdleConnectionsGiveWay(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, patient, func(c *api.Config) { c.MaxConnections, c.MaxConnectionsPerClient = 8, 0 }).awaitReady()
	count := func() float64 { return n.metric("mintlake_api_connections") }
	silent := dial(t, n, "127.0.0.1")
	require.Eventually(t, func() bool { return count() == 1 }, hang, time.Millisecond)
	loris := dial(t, n, "127.0.0.1")
	require.Eventually(t, func() bool { return count() == 2 }, hang, time.Millisecond)
	_, err := loris.Write([]byte("GET /tokens HTTP/1.1\r\nX-A: "))
	require.NoError(t, err)
	idle := dial(t, n, "127.0.0.1")
	status, err := ask(t, idle, "/healthz")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	for i := range 100 {
		// it is sending all the time, and waited for all the same; the node may have closed it
		_, _ = loris.Write([]byte("b"))
		c := dial(t, n, "127.0.0.1")
		status, err := ask(t, c, "/healthz")
		require.NoError(t, err, "connection %d", i)
		require.Equal(t, 200, status)
		require.LessOrEqual(t, count(), 8.0)
	}
	for _, c := range []net.Conn{silent, loris, idle} {
		closed(t, c)
	}
	require.Zero(t, n.metric("mintlake_api_connections_refused_total"))
	require.EqualValues(t, 103-8, n.metric("mintlake_api_connections_evicted_total"))
}

// TestOneClientHasItsShareOfConnections: a client with too many is told so, another is not; trusted
// proxies may have any number.
func TestOneClientHasItsShareOfConnections(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, patient, func(c *api.Config) { c.MaxConnectionsPerClient, c.TrustedProxies = 3, []string{"127.0.0.9"} }).awaitReady()
	var open []net.Conn
	for range 3 {
		c := dial(t, n, "127.0.0.1")
		status, err := ask(t, c, "/healthz")
		require.NoError(t, err)
		require.Equal(t, 200, status)
		open = append(open, c)
	}
	answer, err := io.ReadAll(dial(t, n, "127.0.0.1"))
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(answer))), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Contains(t, response{r, body}.refused(t, 429), "as many connections open")
	for range 5 {
		status, err := ask(t, dial(t, n, "127.0.0.9"), "/healthz")
		require.NoError(t, err)
		require.Equal(t, 200, status)
	}
	status, err := ask(t, dial(t, n, "127.0.0.2"), "/healthz")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.EqualValues(t, 1, n.metric("mintlake_api_connections_refused_total"))
	require.NoError(t, open[0].Close())
	require.Eventually(t, func() bool {
		status, err := ask(t, dial(t, n, "127.0.0.1"), "/healthz")
		return err == nil && status == 200
	}, hang, 10*time.Millisecond, "room again")
}

// TestARequestMustArriveWhole: one deadline holds for line, headers and body together, however
// often bytes come.
func TestARequestMustArriveWhole(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, func(c *api.Config) { c.ReadTimeout = 300 * time.Millisecond }).awaitReady()
	for name, parts := range map[string][2]string{
		"headers": {"GET /tokens HTTP/1.1\r\nHost: localhost\r\nX-A: ", "b"},
		"line":    {"GET /tok", "e"},
		"body":    {"POST /tokens/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", " "},
		"chunks":  {"POST /tokens/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"},
	} {
		c := dial(t, n, "127.0.0.1")
		_, err := c.Write([]byte(parts[0]))
		require.NoError(t, err)
		stop := make(chan struct{})
		go func() { // slower and slower would do as well: what counts is the whole request
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					if _, err := c.Write([]byte(parts[1])); err != nil {
						return
					}
				}
			}
		}()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(hang)))
		answer, err := io.ReadAll(c)
		close(stop)
		require.NoError(t, err, name)
		require.Contains(t, string(answer), `"statusCode":408`, name)
	}
}

// probed asks for a probe's path from an address until it is answered: a machine that stands still
// for a second is too late for the reserve.
func probed(t *testing.T, n *node, from, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		c := dial(t, n, from)
		defer c.Close()
		status, err := ask(t, c, path)
		return err == nil && status == http.StatusOK
	}, hang, 10*time.Millisecond, "%s from %s", path, from)
}

// TestProbesAreAnsweredBeyondTheLimits: when one client holds all that it may, and when many hold
// all that there are.
func TestProbesAreAnsweredBeyondTheLimits(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, patient, func(c *api.Config) { c.MaxConnections, c.MaxConnectionsPerClient = 6, 3 }).awaitReady()
	for i := range 6 { // streams: a connection that is being answered is never closed to make room
		c := dial(t, n, fmt.Sprintf("127.0.0.%d", 2+i/3))
		_, err := fmt.Fprint(c, "GET /tokens/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, " 200 ")
		if i != 2 && i != 5 {
			continue
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			probed(t, n, "127.0.0.2", path)
			probed(t, n, "127.0.0.1", path)
		}
	}
	for from, want := range map[string]int{"127.0.0.2": http.StatusTooManyRequests, "127.0.0.1": http.StatusServiceUnavailable} {
		status, err := ask(t, dial(t, n, from), "/tokens")
		require.NoError(t, err)
		require.Equal(t, want, status, "only probes are answered beyond the limits")
	}
}
