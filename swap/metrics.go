package swap

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/swap/trust"
)

type metrics struct {
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	quotes         *prometheus.CounterVec
	// quotesOf are the counters of quotes by the venue's name.
	quotesOf map[string]prometheus.Counter
	inFlight prometheus.Gauge
	streams  prometheus.Gauge
	// sends counts the swaps of transactions that were sent. slippage has how much worse than
	// quoted those that landed executed, in basis points.
	sends    *prometheus.CounterVec
	slippage *prometheus.HistogramVec
	// rentsRefused counts Rent sysvars that were refused: malformed, or far from those of any
	// chain.
	rentsRefused prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		quotesOf: map[string]prometheus.Counter{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_requests_total", Help: "HTTP requests to the swap API.",
		}, []string{"route", "status"}),
		requestSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_swap_request_seconds", Help: "Time of a request.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"route"}),
		quotes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_quotes_total", Help: "Swaps of quotes that were given, by venue: a split or a route over two pools has several.",
		}, []string{"venue"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_in_flight", Help: "Quotes being made.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_streams", Help: "Open streams of quotes.",
		}),
		sends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_sent_total", Help: "Swaps of transactions that were sent, by venue, number of swaps of the transaction, and what came of it.",
		}, []string{"venue", "swaps", "outcome"}),
		slippage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_swap_slippage_realised_bps", Help: "How much worse than quoted landed transactions executed, in basis points, by venue and number of swaps: a route over two venues counts for both.",
			Buckets: []float64{-100, -10, -1, 0, 1, 5, 10, 25, 50, 100, 250, 500, 1000},
		}, []string{"venue", "swaps"}),
		rentsRefused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_swap_rents_refused_total", Help: "Times that a JSON-RPC server gave a rent that is malformed or far from any of the chain's.",
		}),
	}
	keyed := []string{routeQuote, routeStream, routeSwap, routeSend, routeVenues, routePools, routeJupiterQuote, routeJupiterSwap, routeJupiterInstructions, routeJupiterLabels}
	lengths := []string{"1", "2", "3", "4+"}
	counters.Preset(m.requests, keyed, []string{"200", "400", "401", "403", "404", "409", "429", "500", "503"})
	counters.Preset(m.requests, []string{routeProbe}, []string{"200", "503"})
	counters.Preset(m.requests, []string{routeOther}, []string{"400", "403", "404", "405", "413", "429", "500", "503"})
	counters.PresetHistogram(m.requestSeconds, append(keyed, routeProbe, routeOther))
	var up []prometheus.Collector
	for _, v := range s.cfg.venues {
		counters.Preset(m.sends, []string{v.Name()}, lengths, []string{sentLanded, sentFailed, sentExpired, sentUnknown, sentRefused})
		counters.PresetHistogram(m.slippage, []string{v.Name()}, lengths)
		m.quotesOf[v.Name()] = m.quotes.WithLabelValues(v.Name())
		up = append(up, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_swap_venue_up", Help: "Whether a venue gives quotes: 0 while it is stopped, as a whole; 1 also for one that has yet to be proved.", ConstLabels: prometheus.Labels{"venue": v.Name()},
		}, func() float64 {
			if stop, partly := s.stop(v.Name()); stop != nil && !partly && stop.Reason != trust.ReasonUnproved {
				return 0
			}
			return 1
		}))
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range append(up, m.requests, m.requestSeconds, m.quotes, m.inFlight, m.streams, m.rentsRefused, m.sends, m.slippage) {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// realised counts how much worse than quoted a landed transaction executed, once for each venue.
func (m *metrics) realised(o *sendOrder, bps float64) {
	length, counted := legsLabel(len(o.quote.Route)), map[string]bool{}
	for _, leg := range o.quote.Route {
		if !counted[leg.Venue] {
			counted[leg.Venue] = true
			m.slippage.WithLabelValues(leg.Venue, length).Observe(bps)
		}
	}
}

// sent counts each swap of a transaction that was sent.
func (m *metrics) sent(o *sendOrder, outcome string) {
	length := legsLabel(len(o.quote.Route))
	for _, leg := range o.quote.Route {
		m.sends.WithLabelValues(leg.Venue, length, outcome).Inc()
	}
}
