package keys

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

type metrics struct {
	changes    *prometheus.CounterVec
	badRecords prometheus.Counter
	restarts   prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, l *Live) (*metrics, error) {
	m := &metrics{
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_keys_changes_total", Help: "Changes of API keys read from the topic, by kind; void ones changed nothing.",
		}, []string{"change", "outcome"}),
		badRecords: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_keys_bad_records_total", Help: "Records of the key topic that are no change and were left out.",
		}),
		restarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_keys_feed_restarts_total", Help: "Times the key topic failed for good and was opened again.",
		}),
	}
	counters.Preset(m.changes, []string{"created", "restricted", "rotated", "revoked", "unknown"}, []string{"applied", "void"})
	collectors := []prometheus.Collector{m.changes, m.badRecords, m.restarts}
	for _, product := range Products() {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_keys_active", Help: "Issued API keys that are neither revoked nor expired.", ConstLabels: prometheus.Labels{"product": string(product)},
		}, func() float64 { return l.active(product) }))
	}
	collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_keys_read_age_seconds", Help: "Time since this node last knew that it has all changes of API keys.",
	}, func() float64 { return l.age().Seconds() }))
	return m, counters.Register(registerer, collectors...)
}

func (m *metrics) count(change *eventspb.KeyChange, err error) {
	kind := kindOf(change)
	outcome := "applied"
	if err != nil {
		outcome = "void"
	}
	m.changes.WithLabelValues(kind, outcome).Inc()
}

// kindOf names a change, for metrics and the log of changes.
func kindOf(change *eventspb.KeyChange) string {
	switch change.GetChange().(type) {
	case *eventspb.KeyChange_Created:
		return "created"
	case *eventspb.KeyChange_Restricted:
		return "restricted"
	case *eventspb.KeyChange_Rotated:
		return "rotated"
	case *eventspb.KeyChange_Revoked:
		return "revoked"
	}
	return "unknown"
}

func (l *Live) active(product Product) float64 {
	now, n := time.Now(), 0
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, key := range l.fold.keys {
		if key.Product == product && key.State(now) == "active" {
			n++
		}
	}
	return float64(n)
}

func (l *Live) age() time.Duration {
	at := l.freshAt.Load()
	if at == 0 {
		return 0 // not loaded: no surface serves anything yet
	}
	return steady.Since(at)
}
