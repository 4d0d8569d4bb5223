package documents

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	asked     prometheus.Counter
	left      prometheus.Gauge
	hosts     prometheus.Gauge
	perSecond prometheus.Gauge
	leftFor   prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_bootstrap_documents_" + name, Help: help})
	}
	m := &metrics{
		asked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_bootstrap_documents_asked_total", Help: "Off-chain documents asked for of tokens that have a URI and no document.",
		}),
		left:      gauge("left", "Tokens that have a URI and neither a document nor a try in this walk."),
		hosts:     gauge("hosts", "Hosts that have such tokens; those with few count as one."),
		perSecond: gauge("per_second", "Answers of the walk over missing documents a second, lately."),
		leftFor:   gauge("left_seconds", "How long the walk takes at the hosts' rates until the last host is done; 0 if that is not known."),
	}
	return m, counters.Register(registerer, m.asked, m.left, m.hosts, m.perSecond, m.leftFor)
}

func (m *metrics) told(p Progress) {
	m.left.Set(float64(p.Left))
	m.hosts.Set(float64(p.Hosts))
	m.perSecond.Set(p.PerSecond)
	m.leftFor.Set(p.LeftFor.Seconds())
}
