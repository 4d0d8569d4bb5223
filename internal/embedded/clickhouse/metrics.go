package chengine

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	restarts     prometheus.Counter
	failedStarts prometheus.Counter
	up           prometheus.Gauge
	startSeconds prometheus.Gauge
	stderrLines  prometheus.Counter
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
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.restarts, m.failedStarts, m.up, m.startSeconds, m.stderrLines} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register embedded clickhouse metrics: %w", err)
		}
	}
	return m, nil
}
