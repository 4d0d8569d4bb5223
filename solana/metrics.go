package solana

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

// methods is the finite set of label values; all other methods count as "other".
var methods = map[string]bool{
	"getSlot": true, "getBlock": true, "getBlocks": true, "getMultipleAccounts": true, "getTransaction": true,
	"getAccountInfo": true, "getVersion": true, "getLatestBlockhash": true, sendTransaction: true,
}

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_rpc_client_requests_total",
			Help: "Attempts at JSON-RPC servers by method and outcome (ok, rpc_error, http_error, connection, malformed, canceled)."},
			[]string{"method", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mintlake_rpc_client_request_seconds",
			Help: "Duration of one attempt, body included.", Buckets: prometheus.ExponentialBuckets(0.002, 2, 14)}, []string{"method"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_rpc_client_response_bytes_total",
			Help: "Bytes of results after decompression."}, []string{"method"}),
	}
	names := append(slices.Sorted(maps.Keys(methods)), "other")
	counters.Preset(m.requests, names, []string{"ok", "rpc_error", "http_error", "connection", "malformed", "canceled"})
	counters.Preset(m.bytes, names)
	counters.PresetHistogram(m.seconds, names)
	// The clients of one process share the metrics, because ingest and enrich may each have a
	// client.
	var errs [3]error
	m.requests, errs[0] = counters.Share(reg, m.requests)
	m.seconds, errs[1] = counters.Share(reg, m.seconds)
	m.bytes, errs[2] = counters.Share(reg, m.bytes)
	return m, errors.Join(errs[:]...)
}

func (m *metrics) observe(method, outcome string, took time.Duration, size int) {
	if !methods[method] {
		method = "other"
	}
	m.requests.WithLabelValues(method, outcome).Inc()
	m.seconds.WithLabelValues(method).Observe(took.Seconds())
	m.bytes.WithLabelValues(method).Add(float64(size))
}

// outcome returns the metric label of an attempt's error.
func outcome(err error) string {
	var rpc *RPCError
	var status *HTTPError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &rpc):
		return "rpc_error"
	case errors.As(err, &status):
		return "http_error"
	case errors.Is(err, ErrMalformed):
		return "malformed"
	case errors.Is(err, context.Canceled), errors.Is(err, errTurn):
		return "canceled"
	}
	return "connection"
}
