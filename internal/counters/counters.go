// Package counters makes the series of counters exist before their first event.
//
// A series of a prometheus.CounterVec begins to exist with its first WithLabelValues. If that is
// also its first event, the first sample is 1. increase() and rate() compare two samples, so they
// never see that event. So every vector whose label values are known is preset where it is made.
package counters

import "github.com/prometheus/client_golang/prometheus"

// Preset creates the series of every combination of label values, at 0. values has one list for
// each label, in the order of the vector's labels; a wrong number of lists panics, as
// WithLabelValues does.
func Preset(vector *prometheus.CounterVec, values ...[]string) {
	combine(values, func(labels []string) { vector.WithLabelValues(labels...) })
}

// PresetHistogram does the same for a histogram.
func PresetHistogram(vector *prometheus.HistogramVec, values ...[]string) {
	combine(values, func(labels []string) { vector.WithLabelValues(labels...) })
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
