package kafka

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/recordbatch"
)

// metrics of the embedded broker.
type metrics struct {
	up          prometheus.Gauge
	rejected    *prometheus.CounterVec
	unsupported prometheus.Counter
	warnings    prometheus.Counter
	lost        prometheus.Gauge
	deleted     prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_kafka_up",
			Help: "1 while the embedded Kafka broker serves requests.",
		}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_embedded_kafka_rejected_connections_total",
			Help: "Requests that the broker must not see, by reason; all but bad_batch end their connection.",
		}, []string{"reason"}),
		unsupported: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_kafka_unsupported_requests_total",
			Help: "Requests of kinds that the embedded broker does not serve, answered with UNSUPPORTED_VERSION.",
		}),
		warnings: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_kafka_warnings_total",
			Help: "Warnings and errors that the embedded broker logged, such as a failed write.",
		}),
	}
	m.lost = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_embedded_kafka_lost_ranges",
		Help: "Runs of records in the log that were damaged on disk and that a repair could not bring back.",
	})
	m.deleted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_embedded_kafka_deleted_topics_total",
		Help: "Topics with records that were deleted while the broker ran.",
	})
	counters.Preset(m.rejected, []string{
		"frame_too_long", "frame_too_short", "unknown_api_key", "unknown_version", "unreadable", "bad_batch", "other",
	})
	return m, counters.Register(registerer, m.up, m.rejected, m.unsupported, m.warnings, m.lost, m.deleted)
}

// reasonLabel returns the metric label for a reason of the guard to reject a request.
func reasonLabel(err error) string {
	switch {
	case errors.Is(err, errFrameTooLong):
		return "frame_too_long"
	case errors.Is(err, errFrameTooShort):
		return "frame_too_short"
	case errors.Is(err, errUnknownKey):
		return "unknown_api_key"
	case errors.Is(err, errBadVersion):
		return "unknown_version"
	case errors.Is(err, errUnreadable):
		return "unreadable"
	case errors.Is(err, recordbatch.ErrMalformed), errors.Is(err, recordbatch.ErrTooLong):
		return "bad_batch"
	default:
		return "other"
	}
}
