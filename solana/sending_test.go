package solana

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// TestARefusedTransactionIsToldAtOnce: it is sent once, where a read would be tried again.
func TestARefusedTransactionIsToldAtOnce(t *testing.T) {
	var calls atomic.Int64
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Transaction simulation failed"}}`)
	}))
	t.Cleanup(node.Close)
	c, err := NewClient(Config{Endpoints: []string{node.URL}, MaxAttempts: 3}, Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	var refused *RPCError
	require.ErrorAs(t, c.Call(t.Context(), "sendTransaction", []any{"AQ=="}, nil), &refused)
	require.EqualValues(t, 1, calls.Load())
	require.ErrorAs(t, c.Call(t.Context(), "getBalance", nil, nil), &refused)
	require.EqualValues(t, 4, calls.Load())
}
