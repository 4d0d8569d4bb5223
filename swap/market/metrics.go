package market

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	reads *prometheus.CounterVec
	// held and cached are two counters of reads. They are kept by themselves, because each quote
	// counts them several times.
	held, cached prometheus.Counter
	readSeconds  prometheus.Histogram
	badPools     *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, venues []string) (*metrics, error) {
	m := &metrics{
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_pair_reads_total", Help: "Times that the state of a pair was wanted, by where it came from; wider: the arrays of one pool were read farther from its price.",
		}, []string{"outcome"}),
		readSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_swap_pair_read_seconds", Help: "Time to find and read the pools of a pair.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2, 13),
		}),
		badPools: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_swap_bad_pools_total", Help: "Pools left out of a snapshot because their accounts are not as they should be.",
		}, []string{"venue"}),
	}
	counters.Preset(m.badPools, venues)
	counters.Preset(m.reads, []string{"held", "read", "cached", "wider", "failed"})
	m.held, m.cached = m.reads.WithLabelValues("held"), m.reads.WithLabelValues("cached")
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.reads, m.readSeconds, m.badPools} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
