package swap

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/swap/venue/all"
)

type metrics struct {
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	quotes         *prometheus.CounterVec
	inFlight       prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
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
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_in_flight", Help: "Quotes being made.",
		}),
	}
	routes := []string{routeQuote, routeSwap, routeProbe, routeOther}
	counters.Preset(m.requests, routes[:2], []string{"200", "400", "401", "403", "404", "422", "429", "500", "502", "503", "504"})
	counters.Preset(m.requests, routes[2:3], []string{"200", "503"})
	counters.Preset(m.requests, routes[3:], []string{"400", "403", "404", "405", "413", "500"})
	counters.PresetHistogram(m.requestSeconds, routes)
	for _, v := range all.Venues() {
		m.quotes.WithLabelValues(v.Name())
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.requestSeconds, m.quotes, m.inFlight} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}
