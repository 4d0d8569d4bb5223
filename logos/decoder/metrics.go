package decoder

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

// Outcomes of pictures: metric labels.
const (
	outcomeOK          = "ok"
	outcomeRefused     = "refused"
	outcomeBudget      = "budget"
	outcomeUnavailable = "unavailable"
)

// Reasons for the end of a decoder: metric labels.
const (
	endIdle     = "idle"
	endReplaced = "replaced"
	endClosed   = "closed"
	endCPU      = "cpu"
	endWall     = "wall"
	endDied     = "died"
)

type metrics struct {
	pictures  *prometheus.CounterVec
	ends      *prometheus.CounterVec
	processes prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		pictures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_decoder_pictures_total", Help: "Pictures given to decoders, by what became of them: ok, refused (no picture, broken, out of bounds), " +
				"budget (took too much processor time or memory), unavailable (the machine was too busy, or no process could be started).",
		}, []string{"outcome"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_decoder_ends_total", Help: "Decoder processes that ended, by why: idle, replaced (after much use), closed, cpu (a picture used its " +
				"processor time up), wall (no answer in time), died (mostly for memory).",
		}, []string{"reason"}),
		processes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_decoder_processes", Help: "Decoder processes that run."}),
	}
	for _, outcome := range []string{outcomeOK, outcomeRefused, outcomeBudget, outcomeUnavailable} {
		m.pictures.WithLabelValues(outcome)
	}
	for _, reason := range []string{endIdle, endReplaced, endClosed, endCPU, endWall, endDied} {
		m.ends.WithLabelValues(reason)
	}
	return m, counters.Register(registerer, m.pictures, m.ends, m.processes)
}
