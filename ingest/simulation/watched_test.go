package simulation_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Gauges of the blocks that ingest holds.
const (
	inFlight = "mintlake_ingest_in_flight_blocks"
	waiting  = "mintlake_source_waiting_blocks"
)

// watched registers the gauges of held blocks a second time, on a registry of their own: gathering
// all metrics twice a second takes a quarter of the whole test.
type watched struct {
	prometheus.Registerer
	few *prometheus.Registry
}

func (w watched) Register(c prometheus.Collector) error {
	described := make(chan *prometheus.Desc, 100)
	c.Describe(described)
	close(described)
	for d := range described {
		if text := d.String(); strings.Contains(text, `"`+inFlight+`"`) || strings.Contains(text, `"`+waiting+`"`) {
			if err := w.few.Register(c); err != nil {
				return err
			}
		}
	}
	return w.Registerer.Register(c)
}

func (w watched) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := w.Register(c); err != nil {
			panic(err)
		}
	}
}

// held returns both gauges, each the sum over its labels.
func (w watched) held(t *testing.T) map[string]float64 {
	families, err := w.few.Gather()
	if err != nil {
		t.Error(err)
	}
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			sums[f.GetName()] += m.GetGauge().GetValue()
		}
	}
	for _, name := range []string{inFlight, waiting} {
		if _, there := sums[name]; !there {
			t.Errorf("no metric %s", name)
		}
	}
	return sums
}
