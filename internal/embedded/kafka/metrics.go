package kafka

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the embedded broker.
type metrics struct {
	up       prometheus.Gauge
	rejected *prometheus.CounterVec
	warnings prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mintlake_embedded_kafka_up",
			Help: "1 while the embedded Kafka broker serves requests.",
		}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mintlake_embedded_kafka_rejected_connections_total",
			Help: "Connections dropped because of a request that the broker must not see, by reason.",
		}, []string{"reason"}),
		warnings: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "mintlake_embedded_kafka_warnings_total",
			Help: "Warnings and errors that the embedded broker logged, such as a failed write.",
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.up, m.rejected, m.warnings} {
		if err := registerer.Register(c); err != nil {
			return nil, fmt.Errorf("embedded kafka: register metrics: %w", err)
		}
	}
	return m, nil
}

// reasonLabel names why the guard dropped a connection; the set is finite.
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
	default:
		return "other"
	}
}
