package chengine

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	restarts     prometheus.Counter
	failedStarts prometheus.Counter
	up           prometheus.Gauge
	startSeconds prometheus.Gauge
	stderrLines  prometheus.Counter

	queries, oldest, standing prometheus.Gauge
	stuck                     prometheus.Counter
	mended                    prometheus.Counter
}

// note sets the gauges to a child's report.
func (m *metrics) note(report childReport) {
	m.queries.Set(float64(report.Queries))
	m.oldest.Set(report.OldestSeconds)
	m.standing.Set(float64(report.Standing))
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		restarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_clickhouse_restarts_total", Help: "Restarts of the embedded ClickHouse process after it ended unasked.",
		}),
		failedStarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_clickhouse_failed_starts_total", Help: "Starts of the embedded ClickHouse process that did not become ready.",
		}),
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_clickhouse_up", Help: "1 while the embedded ClickHouse process is ready, else 0.",
		}),
		startSeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_clickhouse_start_seconds", Help: "How long the last start of the embedded ClickHouse process took.",
		}),
		stderrLines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_clickhouse_stderr_lines_total", Help: "Lines that the embedded ClickHouse process wrote to stderr.",
		}),
		queries: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_clickhouse_queries", Help: "Queries that the embedded ClickHouse works on.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_clickhouse_oldest_query_seconds", Help: "How long the oldest of them has run.",
		}),
		standing: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_clickhouse_standing_queries", Help: "Queries that for 10 seconds neither moved rows nor took processor time nor disk traffic.",
		}),
		stuck: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_clickhouse_stuck_total", Help: "Times that the embedded ClickHouse did not end a query that was killed, and its process was replaced.",
		}),
		mended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_clickhouse_mended_total", Help: "Damaged small files of the embedded ClickHouse that were put aside and made anew.",
		}),
	}
	return m, counters.Register(registerer, m.restarts, m.failedStarts, m.up, m.startSeconds, m.stderrLines, m.queries, m.oldest, m.standing, m.stuck, m.mended)
}
