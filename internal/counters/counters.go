// Package counters makes the series of counters exist before their first event.
//
// A series of a prometheus.CounterVec begins to exist with its first WithLabelValues. If that is
// also its first event, the first sample is 1. increase() and rate() compare two samples, so they
// never see that event. So every vector whose label values are known is preset where it is made.
package counters

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Preset creates the series of every combination of label values, at 0. values has one list for
// each label, in the order of the vector's labels; a wrong number of lists panics, as
// WithLabelValues does.
func Preset(vector *prometheus.CounterVec, values ...[]string) {
	combine(values, func(labels []string) { vector.WithLabelValues(labels...) })
}

// PresetHistogram is Preset for a histogram.
func PresetHistogram(vector *prometheus.HistogramVec, values ...[]string) {
	combine(values, func(labels []string) { vector.WithLabelValues(labels...) })
}

// Register registers collectors of any kind. A nil registerer registers none.
func Register(registerer prometheus.Registerer, collectors ...prometheus.Collector) error {
	if registerer == nil {
		return nil
	}
	for _, c := range collectors {
		if err := registerer.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// Share registers c and returns it. If another component of this process has registered a collector
// of the same name and type before, Share returns that one. A nil registerer registers nothing.
func Share[C prometheus.Collector](registerer prometheus.Registerer, c C) (C, error) {
	err := Register(registerer, c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return c, err
}

// combine calls visit with each combination of one value of every list. visit must not keep the
// slice.
func combine(values [][]string, visit func([]string)) {
	labels := make([]string, len(values))
	var walk func(int)
	walk = func(i int) {
		if i == len(values) {
			visit(labels)
			return
		}
		for _, value := range values[i] {
			labels[i] = value
			walk(i + 1)
		}
	}
	walk(0)
}
