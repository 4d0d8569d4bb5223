package state

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	updates, readings  *prometheus.CounterVec
	reconnects, resets prometheus.Counter
	switches           prometheus.Counter
	pools              *prometheus.GaugeVec
	bytes, slot        prometheus.Gauge
	saves, restores    *prometheus.CounterVec
	savedSlot          prometheus.Gauge
	savedBytes         prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer, behind func() bool) (*metrics, error) {
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
		switches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_swap_state_switches_total", Help: "Banks that the stream told of a slot that had one: what the first wrote left the quotes.",
		}),
		pools: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mintlake_swap_state_pools", Help: "Addresses that are held, by what is known: held (quotable from the stream), wanted (to be read first), shallow (its arrays are not held), absent (no pool there).",
		}, []string{"state"}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_state_bytes", Help: "Account data that is held for pools.",
		}),
		slot: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_swap_state_slot", Help: "Slot that the held pools are of; 0 while there is no state.",
		}),
	}
	m.addCheckpoints()
	replaying := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_swap_state_behind", Help: "1 while the stream replays the slots up to now, and pairs are read instead; else 0.",
	}, func() float64 {
		if behind() {
			return 1
		}
		return 0
	})
	counters.Preset(m.updates, []string{"account", "block", "slot", "impossible"})
	counters.Preset(m.readings, []string{"read", "listed", "filled", "failed"})
	for _, state := range []string{"held", "wanted", "shallow", "absent"} {
		m.pools.WithLabelValues(state)
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.updates, m.readings, m.reconnects, m.resets, m.switches, m.pools, m.bytes, m.slot, m.saves, m.restores, m.savedSlot, m.savedBytes, replaying} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// addCheckpoints makes the metrics of checkpoints.
func (m *metrics) addCheckpoints() {
	m.saves = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_swap_state_checkpoints_total", Help: "Checkpoints of the held pools, by outcome (written, failed).",
	}, []string{"outcome"})
	m.restores = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_swap_state_restores_total", Help: "Starts, by what became of the checkpoint: restored, absent, refused (another chain's, damaged, too old).",
	}, []string{"outcome"})
	m.savedSlot = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_swap_state_checkpoint_slot", Help: "Slot of the last checkpoint that was written; 0 for none.",
	})
	m.savedBytes = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_swap_state_checkpoint_bytes", Help: "Size of the last checkpoint that was written.",
	})
	counters.Preset(m.saves, []string{"written", "failed"})
	counters.Preset(m.restores, []string{"restored", "absent", "refused"})
}

// saved counts a checkpoint.
func (m *metrics) saved(slot uint64, size int64, err error) {
	if err != nil {
		m.saves.WithLabelValues("failed").Inc()
		return
	}
	m.saves.WithLabelValues("written").Inc()
	m.savedSlot.Set(float64(slot))
	m.savedBytes.Set(float64(size))
}

// observe sets the gauges.
func (m *metrics) observe(f *Fold) {
	c := f.Counts()
	for state, count := range map[string]int{"held": c.Held, "wanted": c.Wanted, "shallow": c.Shallow, "absent": c.Absent} {
		m.pools.WithLabelValues(state).Set(float64(count))
	}
	m.bytes.Set(float64(f.Bytes()))
	m.slot.Set(float64(f.Head()))
}
