package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMetricsHosts: web pages cannot read the metrics by a name of their own; whoever scrapes
// another address can use any.
func TestMetricsHosts(t *testing.T) {
	for addr, want := range map[string]map[string]int{
		"127.0.0.1:0": {"": 200, "localhost:9600": 200, "[::1]:9600": 200, "listed.example": 200, "evil.example": 403},
		"0.0.0.0:0":   {"": 200, "10.0.0.7:9600": 200, "mintlake.default.svc": 200},
	} {
		cfg := defaults()
		cfg.Metrics.Addr, cfg.AllowedHosts = addr, []string{"listed.example"}
		s := newSystem(cfg, slog.New(slog.DiscardHandler))
		require.NoError(t, s.startMetrics(t.Context()))
		for host, status := range want {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.addresses[0].url, nil)
			require.NoError(t, err)
			r.Host = host
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, status, response.StatusCode, addr+" "+host)
		}
		require.NoError(t, s.stop())
	}
}

// TestMetricsReadinessAlwaysAnswers: when one address holds all connections that it may have, and
// when many hold all there are.
func TestMetricsReadinessAlwaysAnswers(t *testing.T) {
	cfg := defaults()
	cfg.Metrics.Addr = "127.0.0.1:0"
	s := newSystem(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, s.startMetrics(t.Context()))
	s.readiness.setState("")
	addr := strings.TrimSuffix(strings.TrimPrefix(s.addresses[0].url, "http://"), "/metrics")
	ask := func(from int, path string) (line string, conn net.Conn) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(from))}}
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		line, _ = bufio.NewReader(conn).ReadString('\n')
		return line, conn
	}
	for n := range metricsConnections {
		line, _ := ask(2+n/metricsConnectionsOfOne, "/healthz")
		require.Contains(t, line, " 200 ", n)
		if (n+1)%metricsConnectionsOfOne > 0 {
			continue
		}
		line, _ = ask(2, "/metrics")
		require.Contains(t, []string{"HTTP/1.1 429 Too Many Requests\r\n", "HTTP/1.1 503 Service Unavailable\r\n"}, line)
		for _, path := range []string{"/healthz", "/readyz"} {
			require.Eventually(t, func() bool {
				line, conn := ask(2, path)
				_ = conn.Close()
				return strings.Contains(line, " 200 ")
			}, time.Minute, 10*time.Millisecond, path)
		}
	}
	require.NoError(t, s.stop())
}
