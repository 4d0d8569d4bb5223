package trades

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

type hubMetrics struct {
	given prometheus.Counter
	ended *prometheus.CounterVec
}

func newHubMetrics(registerer prometheus.Registerer, h *Hub) (*hubMetrics, error) {
	m := &hubMetrics{
		given: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_api_trade_stream_trades_total", Help: "Trades given to readers of the streams of trades.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_api_trade_stream_ended_total", Help: "Readers of streams of trades that were refused or sent away, by why.",
		}, []string{"reason"}),
	}
	counters.Preset(m.ended, []string{"node_limit", "client_limit", "lagged"})
	streams := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_api_trade_streams", Help: "Readers of streams of trades now.",
	}, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		return float64(h.streams)
	})
	return m, counters.Register(registerer, m.given, m.ended, streams)
}
