package swaps

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	legs, routes, liquidity, deadLetters, storeErrors, writeLimits prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		legs:        prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_swaps_legs_total", Help: "Swap legs stored, repeated ones included."}),
		routes:      prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_swaps_routes_total", Help: "Routes of aggregators stored, repeated ones included."}),
		liquidity:   prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_swaps_liquidity_total", Help: "Changes of liquidity stored, repeated ones included."}),
		deadLetters: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_swaps_dead_letters_total", Help: "Records of swaps and pools that are no message of their topic."}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_swaps_store_errors_total", Help: "Batches of swaps that ClickHouse refused; they are tried again."}),
		writeLimits: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_swaps_write_limits_total", Help: "Writes of swaps that ClickHouse did not end within clickhouse.write_limit; they are killed and tried again."}),
	}
	return m, counters.Register(registerer, m.legs, m.routes, m.liquidity, m.deadLetters, m.storeErrors, m.writeLimits)
}
