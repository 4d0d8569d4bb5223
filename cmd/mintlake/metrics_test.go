package main

import (
	"log/slog"
	"net/http"
	"testing"

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
