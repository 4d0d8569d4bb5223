package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProbe: 200 is well; everything else is an error that shows the answer.
func TestProbe(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the registry is still loading: "+r.URL.Path, status)
	}))
	defer server.Close()
	run := func(args ...string) error {
		root := rootCommand()
		root.SetArgs(append([]string{"probe"}, args...))
		return root.ExecuteContext(t.Context())
	}
	require.NoError(t, run(server.URL+"/readyz"))
	t.Setenv("MINTLAKE_METRICS_ADDR", server.Listener.Addr().String())
	require.NoError(t, run())
	status = http.StatusServiceUnavailable
	require.ErrorContains(t, run(), "503 Service Unavailable: \"the registry is still loading: /healthz\"")
	server.Close()
	require.ErrorContains(t, run(), "connection refused")
}

func TestProbeURL(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:9600": "http://127.0.0.1:9600/healthz", ":9600": "http://127.0.0.1:9600/healthz",
		"[::]:1": "http://127.0.0.1:1/healthz", "10.1.2.3:9600": "http://10.1.2.3:9600/healthz",
	} {
		got, err := probeURL(addr)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := probeURL("127.0.0.1:0")
	require.ErrorContains(t, err, "name the URL")
}
