package usage

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	records, writeErrors, lostRequests, lostBytes prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, m *Meter) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_usage_" + name, Help: help})
	}
	all := &metrics{
		records:      counter("records_total", "Records of usage written to Kafka."),
		writeErrors:  counter("write_errors_total", "Writings of usage that failed; they are tried again."),
		lostRequests: counter("lost_requests_total", "Requests that are in no usage, as too many totals waited for Kafka."),
		lostBytes:    counter("lost_bytes_total", "Bytes that are in no usage, as too many totals waited for Kafka."),
	}
	if registerer == nil {
		return all, nil
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_usage_totals", Help: "Totals in memory: of this minute, and of earlier ones that are not written yet.",
	}, func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(m.totals))
	})
	for _, c := range []prometheus.Collector{all.records, all.writeErrors, all.lostRequests, all.lostBytes, waiting} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("usage: register metrics: %w", err)
		}
	}
	return all, nil
}
