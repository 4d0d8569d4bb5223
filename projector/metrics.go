package projector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	records      prometheus.Counter
	rows         *prometheus.CounterVec
	deadLetters  prometheus.Counter
	writeRetries prometheus.Counter
	writeLimits  prometheus.Counter
	writeSeconds prometheus.Histogram
	foldSeconds  prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_projector_records_total", Help: "Records projected, copies included.",
		}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_projector_rows_total", Help: "Rows written, by table.",
		}, []string{"table"}),
		deadLetters: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_projector_dead_letters_total", Help: "Records that are no message of their topic.",
		}),
		writeRetries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_projector_write_retries_total", Help: "Batches that ClickHouse did not take at once.",
		}),
		writeLimits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_projector_write_limits_total", Help: "Writes of the projector of token events that ClickHouse did not end within clickhouse.write_limit; they are killed and tried again.",
		}),
		writeSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_projector_write_seconds", Help: "Time to make one batch durable, retries included.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 12),
		}),
		foldSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_projector_fold_seconds", Help: "Time to fold the rows that were put off while a partition was far behind.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 14),
		}),
	}
	counters.Preset(m.rows, []string{tableTokenEvents, tableTokenFactHistory, tableTokenFacts, tableSlots})
	return m, counters.Register(registerer, m.records, m.rows, m.deadLetters, m.writeRetries, m.writeLimits, m.writeSeconds, m.foldSeconds)
}

func (m *metrics) observe(batch *Batch, records int, took time.Duration) {
	facts := 0
	for i := range batch.Statements {
		facts += len(batch.Statements[i].Facts)
	}
	m.records.Add(float64(records))
	m.rows.WithLabelValues(tableTokenEvents).Add(float64(len(batch.TokenEvents)))
	m.rows.WithLabelValues(tableTokenFactHistory).Add(float64(len(batch.Statements)))
	m.rows.WithLabelValues(tableTokenFacts).Add(float64(facts))
	m.rows.WithLabelValues(tableSlots).Add(float64(len(batch.Slots)))
	m.writeSeconds.Observe(took.Seconds())
}
