package solana

import (
	"fmt"
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

// TestALostTransactionIsNotToldAsRefused: a node took it and its answer was lost, and the next one
// refuses it, because the chain has it or because that node is behind.
func TestALostTransactionIsNotToldAsRefused(t *testing.T) {
	for refusal, code := range map[string]int{"This transaction has already been processed": codePreflightFailed, "Blockhash not found": codePreflightFailed, "bad": codeInvalidParams} {
		for name, took := range map[string]http.HandlerFunc{
			"cut off":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"timeout":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) },
			"internal": func(w http.ResponseWriter, _ *http.Request) { answerError(w, CodeInternal, "Internal error") },
		} {
			first, second := httptest.NewServer(took), httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answerError(w, code, refusal) }))
			t.Cleanup(first.Close)
			t.Cleanup(second.Close)
			c, err := NewClient(Config{Endpoints: []string{first.URL, second.URL}, MaxAttempts: 1}, Deps{})
			require.NoError(t, err)
			err = c.Call(t.Context(), "sendTransaction", []any{"AQ=="}, nil)
			require.Error(t, err)
			require.False(t, TransactionRefused(err), "%s, %s: %v", name, refusal, err)
		}
	}
}

// TestARefusalIsToldBesideNodesThatDidNotSend: the client need not wait until a blockhash is over.
func TestARefusalIsToldBesideNodesThatDidNotSend(t *testing.T) {
	away := httptest.NewServer(nil)
	away.Close()
	limited := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answerError(w, CodeNodeUnhealthy, "Node is behind by 42 slots")
	}))
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answerError(w, codePreflightFailed, "custom program error: 0x1")
	}))
	for _, server := range []*httptest.Server{limited, behind, refuses} {
		t.Cleanup(server.Close)
	}
	c, err := NewClient(Config{Endpoints: []string{away.URL, limited.URL, behind.URL, refuses.URL}, MaxAttempts: 1}, Deps{})
	require.NoError(t, err)
	err = c.Call(t.Context(), "sendTransaction", []any{"AQ=="}, nil)
	require.True(t, TransactionRefused(err), "%v", err)
}

func answerError(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":%q}}`, code, message)
}
