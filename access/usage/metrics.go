package usage

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
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
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_usage_totals", Help: "Totals in memory: of this minute, and of earlier ones that are not written yet.",
	}, func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(m.totals))
	})
	return all, counters.Register(registerer, all.records, all.writeErrors, all.lostRequests, all.lostBytes, waiting)
}
