package subscriptions

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/schemas"
)

const prefix = "mintlake_gateway_subscriptions_"

type metrics struct {
	calls         *prometheus.CounterVec
	subscriptions *prometheus.CounterVec
	notifications *prometheus.CounterVec
	refused       *prometheus.CounterVec
	lagged        prometheus.Counter
	polls         *prometheus.CounterVec
	badRecords    *prometheus.CounterVec
	feedRestarts  *prometheus.CounterVec
	relays        *prometheus.CounterVec
	panics        prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	m := &metrics{
		calls:         vec("calls_total", "Messages of WebSocket clients, by method; refused ones and notifications together.", "method"),
		subscriptions: vec("subscribed_total", "Subscriptions made, by kind.", "kind"),
		notifications: vec("notifications_total", "Notifications, by kind and by where the news came from.", "kind", "from"),
		refused:       vec("refused_total", "Connections turned away, by reason.", "reason"),
		lagged:        prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "lagged_total", Help: "Connections cut off because the client fell behind."}),
		polls:         vec("polls_total", "Questions to the upstream, by method and outcome.", "method", "outcome"),
		badRecords:    vec("bad_records_total", "Records that could not be read and were left out, by topic.", "topic"),
		feedRestarts:  vec("feed_restarts_total", "Times that a topic failed for good and was opened again.", "topic"),
	}
	m.panics = prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "panics_total", Help: "Connections of clients and to upstreams that ended with a panic, and reads of accounts."})
	m.relays = vec("relay_connections_total", "Connections to upstreams' WebSockets, by outcome.", "outcome")
	counters.Preset(m.relays, []string{"connected", "failed"})
	topics := []string{schemas.TopicSlots, schemas.TopicTransactions}
	counters.Preset(m.calls, []string{
		"ping", "signatureSubscribe", "slotSubscribe", "rootSubscribe", "signatureUnsubscribe", "slotUnsubscribe", "rootUnsubscribe",
		"accountSubscribe", "programSubscribe", "logsSubscribe", "accountUnsubscribe", "programUnsubscribe", "logsUnsubscribe",
		"notification", "refused",
	})
	counters.Preset(m.subscriptions, kindNames[:])
	counters.Preset(m.notifications, kindNames[:], []string{fromIngest, fromUpstream})
	counters.Preset(m.refused, []string{"full", "handshake"})
	counters.Preset(m.polls, []string{"getSignatureStatuses", "getBlocks"}, []string{"ok", "error"})
	counters.Preset(m.badRecords, topics)
	counters.Preset(m.feedRestarts, topics)
	return m, register(registerer, m.calls, m.subscriptions, m.notifications, m.refused, m.lagged, m.polls, m.badRecords, m.feedRestarts, m.relays, m.panics)
}

func (m *metrics) registerGauges(registerer prometheus.Registerer, h *hub) error {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + name, Help: help}, func() float64 {
			h.mu.Lock()
			defer h.mu.Unlock()
			return float64(value())
		})
	}
	return register(registerer,
		gauge("connections", "Open WebSocket connections.", func() int { return len(h.sessions) }),
		gauge("relayed", "Different subscriptions that upstreams have for clients.", func() int { return len(h.relayed) }),
		gauge("open", "Open subscriptions.", h.open.Taken))
}

func register(registerer prometheus.Registerer, list ...prometheus.Collector) error {
	return counters.Register(registerer, list...)
}
