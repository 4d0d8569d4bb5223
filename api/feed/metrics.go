package feed

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	changes *prometheus.CounterVec
	ended   *prometheus.CounterVec
	replays *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, f *Feed) (*metrics, error) {
	m := &metrics{
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_stream_changes_total", Help: "Changes given to readers of the change feed, before their filters.",
		}, []string{"change"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_stream_ended_total", Help: "Readers of the change feed that were refused or sent away, by why.",
		}, []string{"reason"}),
		replays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_stream_resumes_total", Help: "Cursors that readers of the change feed came with, by where what follows them was found.",
		}, []string{"from"}),
	}
	counters.Preset(m.changes, []string{string(KindNew), string(KindChanged), string(KindRemoved)})
	counters.Preset(m.ended, []string{"node_limit", "client_limit", "lagged"})
	counters.Preset(m.replays, []string{"memory", "topics", "nowhere"})
	streams := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_api_streams", Help: "Readers of the change feed now.",
	}, func() float64 {
		f.mu.Lock()
		defer f.mu.Unlock()
		return float64(f.streams)
	})
	return m, counters.Register(registerer, m.changes, m.ended, m.replays, streams)
}
