package parts

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	damaged                              *prometheus.GaugeVec
	checkedParts, checkedBytes, failures prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		damaged: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mintlake_clickhouse_damaged_parts", Help: "Parts of ClickHouse's tables that are lost, detached or broken, or that cannot be checked, by kind of damage.",
		}, []string{"damage"}),
		checkedParts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_clickhouse_checked_parts_total", Help: "Parts of ClickHouse's tables whose files were compared with their checksums.",
		}),
		checkedBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_clickhouse_checked_bytes_total", Help: "Their bytes on disk.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_clickhouse_check_failures_total", Help: "Looks at parts and checks that did not come to their end.",
		}),
	}
	for _, kind := range kinds() {
		m.damaged.WithLabelValues(kind)
	}
	return m, counters.Register(registerer, m.damaged, m.checkedParts, m.checkedBytes, m.failures)
}
