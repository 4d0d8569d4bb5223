package das

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_gateway_das_api_requests_total", Help: "Requests to the token API for DAS methods, by outcome.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_gateway_das_api_seconds", Help: "Time of a request to the token API.", Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	counters.Preset(m.requests, []string{"ok", "limited", "absent", "status", "connection", "malformed", "canceled", "error"})
	return m, counters.Register(registerer, m.requests, m.seconds)
}
