package fetch

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	if registerer == nil {
		return m, nil
	}
	var problems []error
	for _, collector := range []prometheus.Collector{m.fetches, m.bytes, m.seconds} {
		problems = append(problems, registerer.Register(collector))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("register fetch metrics: %w", err)
	}
	return m, nil
}

func (m *metrics) done(err error, response *Response, took time.Duration) {
	m.fetches.WithLabelValues(string(ClassOf(err))).Inc()
	m.seconds.Observe(took.Seconds())
	if err == nil {
		m.bytes.Add(float64(len(response.Body)))
	}
}
