package volume

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	minutes, errors, writeLimits prometheus.Counter
	seconds                      prometheus.Histogram
	succeeded, waiting           prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		minutes: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_volume_valued_buckets_total", Help: "Minutes of block time valued, again ones included."}),
		errors:  prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_volume_errors_total", Help: "Valuations that failed and are done again."}),
		writeLimits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_volume_write_limits_total", Help: "Statements of valuations that ClickHouse did not end within clickhouse.write_limit; they are killed and done again.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_volume_seconds", Help: "Time of a valuation that had something to do.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		}),
		succeeded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_volume_last_success_timestamp_seconds", Help: "When all minutes were valued last, or nothing was new; the start of the room before that.",
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_volume_waiting_buckets", Help: "Minutes of block time with legs that no valuation has seen, when it last looked.",
		}),
	}
	return m, counters.Register(registerer, m.minutes, m.errors, m.writeLimits, m.seconds, m.succeeded, m.waiting)
}
