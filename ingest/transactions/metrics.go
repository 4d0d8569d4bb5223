package transactions

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	published prometheus.Counter
	leftOut   prometheus.Counter
	lost      prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, p *Publisher) (*metrics, error) {
	m := &metrics{
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_ingest_stream_records_total", Help: "Records written for the public stream: transactions, ends of slots, statuses.",
		}),
		leftOut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_ingest_stream_left_out_total", Help: "Transactions left out of the public stream because Kafka was slower than the chain and the spill full.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_ingest_stream_spill_damaged_total", Help: "Entries of the spill that could not be read again.",
		}),
	}
	spilled := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_ingest_stream_spill_bytes", Help: "Bytes on disk that wait to be written for the public stream.",
	}, func() float64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return float64(p.spilled())
	})
	limit := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_ingest_stream_spill_limit_bytes", Help: "Most bytes that may wait on disk (stream.spill_bytes).",
	}, func() float64 { return float64(p.cfg.SpillBytes) })
	return m, counters.Register(registerer, m.published, m.leftOut, m.lost, spilled, limit)
}
