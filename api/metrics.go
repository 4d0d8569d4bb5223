package api

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/steady"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	limited  *prometheus.CounterVec

	historyErrors prometheus.Counter

	refused *prometheus.CounterVec
	evicted prometheus.Counter
}

// logPause is the shortest time between two log lines about the same problem.
const logPause = 10 * time.Second

// sampler keeps a repeated problem from filling the log.
type sampler struct {
	next atomic.Int64 // Unix nanoseconds
}

// due returns whether another line may be logged. If so, a new pause begins.
func (s *sampler) due(now time.Time) bool {
	next := s.next.Load()
	return steady.Nano(now) >= next && s.next.CompareAndSwap(next, steady.Nano(now.Add(logPause)))
}

func newMetrics(registerer prometheus.Registerer, s *Server) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mintlake_api_request_seconds", Help: "Time from a whole request to its response being ready.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"route"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_rate_limited_total", Help: "Requests refused by a rate limit.",
		}, []string{"route"}),
		historyErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_api_history_errors_total", Help: "Questions about history that ClickHouse did not answer.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_connections_refused_total", Help: "Connections refused, because the node is full or the client has enough.",
		}, []string{"reason"}),
		evicted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_api_connections_evicted_total", Help: "Waiting connections closed to make room for new ones.",
		}),
	}
	return m, counters.Register(registerer, append(s.gauges(), m.requests, m.seconds, m.limited, m.historyErrors, m.refused, m.evicted)...)
}

// statuses are the status codes that any route may answer with. Their series exist from the start,
// because increase() misses the first value of a new series.
var statuses = []string{"200", "304", "400", "403", "404", "405", "408", "413", "415", "429", "431", "500", "503"}

// preset creates the series of all routes.
func (m *metrics) preset(routes []*route) {
	paths := []string{routeOther}
	for _, r := range routes {
		paths = append(paths, r.path)
	}
	counters.Preset(m.requests, paths, statuses)
	counters.PresetHistogram(m.seconds, paths)
	counters.Preset(m.limited, paths)
	counters.Preset(m.refused, []string{refusedFull, refusedClient})
}

// gauges returns the metrics that are read at each scrape. The metrics of rate limits are 0 if
// limits are off.
func (s *Server) gauges() []prometheus.Collector {
	stats := func(read func(limits.Stats) float64) func() float64 {
		return func() float64 {
			if s.local == nil {
				return 0
			}
			return read(s.local.Stats())
		}
	}
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_api_connections", Help: "Connections open.",
		}, func() float64 {
			if l := s.listener.Load(); l != nil {
				return float64(l.connections())
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_api_rate_limit_clients", Help: "Clients whose windows are remembered.",
		}, stats(func(s limits.Stats) float64 { return float64(s.Clients) })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "mintlake_api_rate_limit_forgotten_total", Help: "Clients below a quarter of every limit that were forgotten early, to make room.",
		}, stats(func(s limits.Stats) float64 { return float64(s.Forgotten) })),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "mintlake_api_rate_limit_turned_away_total", Help: "Requests of new clients refused because there was no room for their windows.",
		}, stats(func(s limits.Stats) float64 { return float64(s.TurnedAway) })),
	}
}
