package fetch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	fetches *prometheus.CounterVec
	bytes   prometheus.Counter
	seconds prometheus.Histogram
}

func newMetrics(purpose string, registerer prometheus.Registerer) (*metrics, error) {
	labels := prometheus.Labels{"purpose": purpose}
	m := &metrics{
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_fetch_total", Help: "Fetches of off-chain content by outcome.", ConstLabels: labels,
		}, []string{"class"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_fetch_bytes_total", Help: "Bytes of off-chain content fetched, after decompression.", ConstLabels: labels,
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_fetch_seconds", Help: "Time of whole fetches, failed ones included.", ConstLabels: labels,
			Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30},
		}),
	}
	for _, class := range Classes() {
		m.fetches.WithLabelValues(string(class))
	}
	return m, counters.Register(registerer, m.fetches, m.bytes, m.seconds)
}

// count counts a fetch that has ended. response counts only if err is nil.
func (m *metrics) count(err error, response *Response, took time.Duration) {
	m.fetches.WithLabelValues(string(ClassOf(err))).Inc()
	m.seconds.Observe(took.Seconds())
	if err == nil {
		m.bytes.Add(float64(len(response.Body)))
	}
}
