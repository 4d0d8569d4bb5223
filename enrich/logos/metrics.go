package logos

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/registry"
)

type metrics struct {
	checks *prometheus.CounterVec
	// age is how long after it was due the last check began, in nanoseconds.
	age atomic.Int64
}

func newMetrics(registerer prometheus.Registerer, machine *Machine) (*metrics, error) {
	m := &metrics{checks: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_logos_checks_total", Help: "Attempts to fetch a logo, by class of outcome.",
	}, []string{"class"})}
	for _, class := range fetch.Classes() {
		m.checks.WithLabelValues(string(class))
	}
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mintlake_logos_" + name, Help: help, ConstLabels: labels}, value)
	}
	collectors := []prometheus.Collector{
		m.checks,
		gauge("waiting", "Logos that are due and wait for a worker.", nil, func() float64 { return float64(machine.queue.Waiting()) }),
		gauge("queue_age_seconds", "How long the check that began last had been due; 0 when none waits.", nil, func() float64 {
			if machine.queue.Waiting() == 0 {
				return 0
			}
			return time.Duration(m.age.Load()).Seconds()
		}),
	}
	collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_enrich_broken_documents", Help: "Metadata documents that could not be read and are tried again.",
	}, func() float64 { return float64(machine.documents.size()) }))
	for _, status := range []string{registry.LogoOK, registry.LogoUnchecked, registry.LogoBroken, registry.LogoMissing} {
		collectors = append(collectors, gauge("tokens", "Tokens that ever named a logo, by its status.", prometheus.Labels{"status": status},
			func() float64 { return float64(machine.table.count(status)) }))
	}
	return m, counters.Register(registerer, collectors...)
}

func (m *metrics) started(age time.Duration) { m.age.Store(int64(max(age, 0))) }
