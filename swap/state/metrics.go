package state

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	updates, readings  *prometheus.CounterVec
	reconnects, resets prometheus.Counter
	pools              *prometheus.GaugeVec
	bytes, slot        prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		updates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_state_updates_total", Help: "Messages of the stream that pools are held from, by kind.",
		}, []string{"kind"}),
		readings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_state_readings_total", Help: "Calls that read or list pools beside the stream, by outcome.",
		}, []string{"outcome"}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_swap_state_reconnects_total", Help: "Connections of the pools' stream that ended.",
		}),
		resets: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_swap_state_resets_total", Help: "Times that the stream lost blocks and all pools were read again.",
		}),
		pools: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mintlake_swap_state_pools", Help: "Addresses that are held, by what is known: held (quotable from the stream), wanted (to be read first), absent (no pool there).",
		}, []string{"state"}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_state_bytes", Help: "Account data that is held for pools.",
		}),
		slot: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_state_slot", Help: "Slot that the held pools are of; 0 while there is no state.",
		}),
	}
	counters.Preset(m.updates, []string{"account", "block", "slot"})
	counters.Preset(m.readings, []string{"read", "listed", "failed"})
	for _, state := range []string{"held", "wanted", "absent"} {
		m.pools.WithLabelValues(state)
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.updates, m.readings, m.reconnects, m.resets, m.pools, m.bytes, m.slot} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// observe sets the gauges.
func (m *metrics) observe(f *Fold) {
	quotable, uncertain, empty := f.Counts()
	m.pools.WithLabelValues("held").Set(float64(quotable))
	m.pools.WithLabelValues("wanted").Set(float64(uncertain))
	m.pools.WithLabelValues("absent").Set(float64(empty))
	m.bytes.Set(float64(f.Bytes()))
	m.slot.Set(float64(f.Head()))
}
