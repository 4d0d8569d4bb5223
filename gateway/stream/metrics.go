package stream

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/counters"
)

type metrics struct {
	records       prometheus.Counter
	badRecords    prometheus.Counter
	repeated      prometheus.Counter
	delivered     prometheus.Counter
	delay         prometheus.Histogram
	feedRestarts  prometheus.Counter
	gaps          prometheus.Counter
	replays       prometheus.Counter
	replayed      prometheus.Counter
	replayReads   prometheus.Counter
	subscriptions *prometheus.CounterVec
	refused       *prometheus.CounterVec
	// connectionsEnded counts the connections that the server ended, by reason: see endedSilent.
	connectionsEnded *prometheus.CounterVec
	floods           prometheus.Counter
	stalls           prometheus.Counter
	panics           prometheus.Counter
	// processed has the metrics of the commitment processed.
	processed processedMetrics
}

// Why the server ends a connection. All but endedFlood come before the client's first request.
const (
	endedSilent    = "silent"
	endedHandshake = "tls_handshake"
	endedNoTLS     = "no_tls"
	endedFull      = "full"
	endedAddress   = "address"
	endedFlood     = "flood"
)

func newMetrics(registerer prometheus.Registerer, of *Server) (*metrics, error) {
	m := &metrics{
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_records_total", Help: "Transactions read from the topic.",
		}),
		badRecords: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_bad_records_total", Help: "Records that are no transaction and were left out.",
		}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_repeated_total", Help: "Transactions that the topic had more than once and that were left out.",
		}),
		delivered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_delivered_total", Help: "Transactions handed to subscribers, once for each.",
		}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_gateway_stream_delay_seconds", Help: "Time from a transaction reaching Mintlake to its being handed to subscribers.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}),
		feedRestarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_feed_restarts_total", Help: "Times the topic failed for good and was opened again.",
		}),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_gaps_total", Help: "Gaps of the live log: slots whose transactions are missing, in a row.",
		}),
		replays: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_replays_total", Help: "Replays begun.",
		}),
		replayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_replayed_total", Help: "Transactions and notes of slots that replays handed over.",
		}),
		replayReads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_replay_reads_total", Help: "Records that were read from the topic for replays; those at about the same place share what is read.",
		}),
		subscriptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_subscribers_total", Help: "Subscribers that came, by form.",
		}, []string{"form"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_refused_total", Help: "Clients turned away, by form and reason.",
		}, []string{"form", "reason"}),
		connectionsEnded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_connections_ended_total", Help: "Connections that were turned away, did not begin to speak gRPC or HTTP, or sent too fast, by reason.",
		}, []string{"reason"}),
		stalls: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_stalls_total", Help: "Times that the stream stalled: nothing came on the topic, and subscribers were told.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_panics_total", Help: "Calls, streams, connections and replays that ended with a panic.",
		}),
		floods: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_floods_total", Help: "Times that a client's bytes had to wait, as its address sent faster than it may.",
		}),
	}
	m.processed = newProcessedMetrics()
	forms := []string{formGRPC, formWebSocket}
	counters.Preset(m.subscriptions, forms)
	counters.Preset(m.refused, forms, append(keys.RefusedLabels(), "full", "invalid", "old_slot", "host"))
	counters.Preset(m.connectionsEnded, []string{endedSilent, endedHandshake, endedNoTLS, endedFull, endedAddress, endedFlood})
	counters.Preset(m.refused, []string{formWebSocket}, []string{"coding", "http_method", "path", "origin", "handshake"})
	list := append(gauges(of), m.records, m.badRecords, m.repeated, m.delivered, m.delay, m.feedRestarts, m.gaps, m.replays, m.replayed, m.replayReads,
		m.subscriptions, m.refused, m.connectionsEnded, m.floods, m.stalls, m.panics,
		m.processed.records, m.processed.bad, m.processed.repeated, m.processed.sessions, m.processed.gaps, m.processed.dead, m.processed.withdrawn)
	return m, counters.Register(registerer, list...)
}

// gauges returns the metrics whose values other parts of the server keep.
func gauges(of *Server) []prometheus.Collector {
	h := of.hub
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_gateway_stream_subscribers", Help: "Open subscriptions.",
		}, func() float64 { return float64(h.count()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_gateway_stream_replay_readers", Help: "Places at which replays read the topic.",
		}, func() float64 { return float64(of.readers.count()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_gateway_stream_connections", Help: "Open connections.",
		}, func() float64 { return float64(of.open.Open()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "mintlake_gateway_stream_lagged_total", Help: "Subscribers cut off because they fell behind.",
		}, func() float64 { return float64(h.lagged.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_gateway_stream_slot", Help: "Highest slot seen.",
		}, func() float64 { return float64(h.slot.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_gateway_stream_processed_slot", Help: "Highest processed slot; 0 without stream.processed.",
		}, func() float64 { return float64(of.processed.slot()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "mintlake_gateway_stream_certificate_expires_timestamp_seconds", Help: "When the certificate of the stream's TLS is out of date; 0 without TLS.",
		}, func() float64 {
			if of.certificate == nil {
				return 0
			}
			return float64(of.certificate.Expires().Unix())
		}),
	}
}
