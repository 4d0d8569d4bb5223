package logos

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

// What requests were answered with. These are values of a metric label.
const (
	answerHit     = "hit"
	answerFetched = "fetched"
	answerPending = "pending"
	answerBroken  = "broken"
	answerMissing = "missing"
)

type metrics struct {
	answers *prometheus.CounterVec
	bytes   prometheus.Counter
	// The counters of answers by name, so that a request need not look up a label.
	hit, fetched, pending, broken, missing prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, x *index) (*metrics, error) {
	m := &metrics{
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_img_answers_total", Help: "Logos of known tokens asked for, by what was answered: hit (the node had it), fetched, " +
				"or the fallback while it is pending, broken or missing.",
		}, []string{"answer"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_img_bytes_total", Help: "Bytes of logos given, before compression."}),
	}
	for answer, counter := range map[string]*prometheus.Counter{
		answerHit: &m.hit, answerFetched: &m.fetched, answerPending: &m.pending, answerBroken: &m.broken, answerMissing: &m.missing,
	} {
		*counter = m.answers.WithLabelValues(answer)
	}
	known := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_img_known_logos", Help: "Tokens of whose logo the node knows a check or a decision.",
	}, func() float64 { return float64(x.size()) })
	return m, counters.Register(registerer, m.answers, m.bytes, known)
}
