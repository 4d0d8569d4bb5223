package jsonrpc

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	slotDesc = prometheus.NewDesc("mintlake_gateway_rpc_upstream_slot", "Last slot that an upstream named.", []string{"upstream", "commitment"}, nil)
	lagDesc  = prometheus.NewDesc("mintlake_gateway_rpc_upstream_lag_slots", "Slots that an upstream is below the highest one believed, at the commitment processed.",
		[]string{"upstream"}, nil)
	conditionDesc = prometheus.NewDesc("mintlake_gateway_rpc_upstream_condition", "1 for the condition that an upstream is in: well, behind, in_trouble, ahead or other_chain.",
		[]string{"upstream", "condition"}, nil)
	errorsDesc = prometheus.NewDesc("mintlake_gateway_rpc_upstream_error_ratio", "Part of the attempts of the last minute that failed.", []string{"upstream"}, nil)
	tookDesc   = prometheus.NewDesc("mintlake_gateway_rpc_upstream_recent_seconds", "Time until an answer began, quantiles of the last minute.",
		[]string{"upstream", "quantile"}, nil)
)

// poolMetrics reports the state of each upstream at the time of the scrape.
type poolMetrics struct{ pool *pool }

// Describe implements prometheus.Collector.
func (m *poolMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{slotDesc, lagDesc, conditionDesc, errorsDesc, tookDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *poolMetrics) Collect(out chan<- prometheus.Metric) {
	now := time.Now()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	highest := m.pool.highest(processed)
	shown := map[string]bool{} // two URLs that differ only in their secrets have one name
	for i, found := range m.pool.judge(now) {
		u := m.pool.upstreams[i]
		if shown[u.name] {
			continue
		}
		shown[u.name] = true
		for c := range commitments {
			if slot, known := u.slots.known(c); known {
				gauge(slotDesc, float64(slot), u.name, c.String())
			}
		}
		if slot, known := u.slots.known(processed); known {
			gauge(lagDesc, float64(max(highest, slot)-slot), u.name)
		}
		for c := range conditions {
			value := 0.0
			if c == found {
				value = 1
			}
			gauge(conditionDesc, value, u.name, c.String())
		}
		recent := u.window.summarize(now)
		gauge(errorsDesc, recent.errorRatio(), u.name)
		for label, q := range map[string]float64{"0.5": 0.5, "0.95": 0.95, "0.99": 0.99} {
			gauge(tookDesc, recent.quantile(q).Seconds(), u.name, label)
		}
	}
}
