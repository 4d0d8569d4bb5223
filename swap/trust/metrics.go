package trust

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	replays, mismatches, probes *prometheus.CounterVec
	dropped, unrecorded         prometheus.Counter
	kinds, deployed             *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer, venues []string) (*metrics, error) {
	m := &metrics{
		replays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_replays_total", Help: "Transactions on pools that were computed again, by outcome: match, mismatch, or skipped, as they say nothing.",
		}, []string{"venue", "outcome"}),
		mismatches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_mismatches_total", Help: "Swaps on the deployed build that were not what a quote says: each stops quotes of the venue.",
		}, []string{"venue"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_probes_total", Help: "Looks for swaps on pools over JSON-RPC, where no stream brings them, by outcome: found a transaction, or failed.",
		}, []string{"outcome"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_swap_replays_dropped_total", Help: "Transactions on pools that were not computed again, as too many waited.",
		}),
		unrecorded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_swap_trust_unrecorded_total", Help: "Times that builds and proofs of venues were not written to their folder; it is tried again.",
		}),
		kinds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mintlake_swap_venue_kinds", Help: "Kinds of swaps that were seen on the deployed build, by whether as many as are needed in a row were right: proved or waiting.",
		}, []string{"venue", "state"}),
		deployed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mintlake_swap_venue_deploy_slot", Help: "Slot in which the venue's last deployed program was deployed; 0 where none can be.",
		}, []string{"venue"}),
	}
	counters.Preset(m.replays, venues, []string{string(matched), string(mismatched), string(skipped)})
	counters.Preset(m.mismatches, venues)
	counters.Preset(m.probes, []string{"found", "failed"})
	for _, name := range venues {
		m.deployed.WithLabelValues(name)
		m.kinds.WithLabelValues(name, "proved")
		m.kinds.WithLabelValues(name, "waiting")
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.replays, m.mismatches, m.probes, m.dropped, m.unrecorded, m.kinds, m.deployed} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// observe sets the gauges.
func (m *metrics) observe(b *book) {
	for _, name := range b.order {
		r := b.report(name)
		proved, slot := 0, uint64(0)
		for _, k := range r.Kinds {
			if k.Proved {
				proved++
			}
		}
		for _, p := range r.Programs {
			slot = max(slot, p.Slot)
		}
		m.kinds.WithLabelValues(name, "proved").Set(float64(proved))
		m.kinds.WithLabelValues(name, "waiting").Set(float64(len(r.Kinds) - proved))
		m.deployed.WithLabelValues(name).Set(float64(slot))
	}
}
