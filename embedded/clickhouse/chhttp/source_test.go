package chhttp

import (
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSlowBody: a client that stops sending must not hold anything for ever.
func TestSlowBody(t *testing.T) {
	handler := New(Config{bodyTimeout: 300 * time.Millisecond, bodyRate: 1 << 20}, Deps{Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(handler)
	defer server.Close()
	addr := server.Listener.Addr().String()
	var wait sync.WaitGroup
	defer wait.Wait()
	for name, head := range map[string]string{
		"statement": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nSELECT 1",
		"data":      "POST /?query=INSERT+INTO+FUNCTION+null('a+Int8')+FORMAT+CSV HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n1\n\r\n",
		"refused":   "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nSELECT 1",
		"drops":     "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nSELECT 1",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			_, err = conn.Write([]byte(head))
			require.NoError(t, err)
			if name == "drops" { // a byte at a time resets no clock for ever
				wait.Go(func() {
					for err == nil {
						_, err = conn.Write([]byte(" "))
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Minute)))
			var answer strings.Builder
			for buffer := make([]byte, 4096); ; {
				n, err := conn.Read(buffer)
				answer.Write(buffer[:n])
				if err != nil {
					require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server closes the connection")
					break
				}
			}
			if name != "refused" {
				require.Contains(t, answer.String(), "SOCKET_TIMEOUT")
				require.Contains(t, answer.String(), " 503 ")
			}
		})
	}
}
