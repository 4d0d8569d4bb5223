package jsonrpc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// TestConnectionsOfOneAddressAreBounded: those that say nothing take no other's place, and one more
// is told why it is refused.
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	f := start(t, Config{maxConnectionsPerAddress: 2, maxConnections: 4})
	dial := func() net.Conn {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}).DialContext(t.Context(), "tcp", f.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		return conn
	}
	dial()
	dial()
	more := dial()
	_, _ = fmt.Fprintf(more, "POST / HTTP/1.1\r\nHost: %s\r\n\r\n", f.Addr())
	response, err := http.ReadResponse(bufio.NewReader(more), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32429,"message":"the server has as many connections of your address as it may: 2"},"id":null}`, string(body))
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.requests.WithLabelValues("connections")))
	status, _ := f.post(t, getSlot(1))
	require.Equal(t, http.StatusServiceUnavailable, status, "another address is served: there is no upstream")
}
