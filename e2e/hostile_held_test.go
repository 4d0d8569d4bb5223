package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heldBy is how many connections each port lets one address have; docs/api-reference.md and
// docs/gateway-reference.md tell them.
var heldBy = map[string]int{"api": 512, "swap": 1000, "rpc": 1000, "rpc_ws": 1000, "stream": 1000, "admin": 64, "metrics": 64}

// TestHostileHeldConnections: whoever holds all connections that one address may have, and opens
// more, does not keep probes from their answer, not even those of that address.
func TestHostileHeldConnections(t *testing.T) {
	up := underAttack(t, 3000)
	for surface, most := range heldBy {
		var held []net.Conn
		for range most {
			conn := up.attack(t, surface, 5*time.Minute)
			held = append(held, conn)
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			require.NoError(t, err)
			_, err = bufio.NewReader(conn).ReadByte() // it is open, and not refused before its turn
			require.NoError(t, err, surface)
		}
		require.Contains(t, []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}, statusOf(t, up, surface, attackers, "/"), surface)
		for range 200 { // more, without a word
			held = append(held, up.attack(t, surface, 5*time.Minute))
		}
		paths := []string{"/healthz"}
		if surface == "metrics" {
			paths = append(paths, "/readyz")
		}
		for _, path := range paths {
			for _, from := range []*net.TCPAddr{attackers, {IP: net.IPv4(127, 0, 0, 1)}} {
				require.Eventually(t, func() bool { return statusOf(t, up, surface, from, path) == http.StatusOK }, hang, 100*time.Millisecond, "%s of %s from %s", path, surface, from)
			}
		}
		for _, conn := range held {
			_ = conn.Close()
		}
	}
}

// statusOf returns the status of the answer to a GET on a connection of its own; 0 if there is
// none.
func statusOf(t *testing.T, up *instance, surface string, from *net.TCPAddr, path string) int {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: from, Timeout: hang}).DialContext(t.Context(), "tcp", up.hostPort(surface))
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(hang))
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
