package volume

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	minutes, errors prometheus.Counter
	seconds         prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		minutes: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_volume_valued_buckets_total", Help: "Minutes of block time valued, again ones included."}),
		errors:  prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_volume_errors_total", Help: "Valuations that failed and are done again."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_volume_seconds", Help: "Time of a valuation that had something to do.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.minutes, m.errors, m.seconds} {
		if err := registerer.Register(c); err != nil {
			return nil, err //nolint:wrapcheck // the caller wraps
		}
	}
	return m, nil
}
