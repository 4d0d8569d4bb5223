package swap

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	quotes         *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_requests_total", Help: "HTTP requests to the swap API.",
		}, []string{"route", "status"}),
		requestSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_swap_request_seconds", Help: "Time of a request.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"route"}),
		quotes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_quotes_total", Help: "Quotes given, by the venue that gave the most.",
		}, []string{"venue"}),
	}
	if registerer == nil {
		return m, nil
	}
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_swap_in_flight", Help: "Quotes being made.",
	}, func() float64 { return float64(len(s.slots)) })
	for _, c := range []prometheus.Collector{m.requests, m.requestSeconds, m.quotes, inFlight} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}
