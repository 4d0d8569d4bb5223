package kafka

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

// latencyBuckets run from half a millisecond (embedded) to the request timeout, in seconds.
var latencyBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// metrics are shared by all producers and consumers of one registerer. Labels: topic and consumer
// (the group, or the tailer's name) come from the configuration, kind is retryable or permanent.
type metrics struct {
	producedRecords *prometheus.CounterVec
	producedBytes   *prometheus.CounterVec
	produceErrors   *prometheus.CounterVec
	produceSeconds  *prometheus.HistogramVec

	fetchedRecords  *prometheus.CounterVec
	fetchedBytes    *prometheus.CounterVec
	fetchErrors     *prometheus.CounterVec
	fetchSeconds    *prometheus.HistogramVec
	offsetResets    *prometheus.CounterVec
	batchesTooLarge *prometheus.CounterVec
	fetchLag        *prometheus.GaugeVec

	commits        *prometheus.CounterVec
	commitErrors   *prometheus.CounterVec
	commitsSkipped *prometheus.CounterVec
	commitSeconds  *prometheus.HistogramVec
	rebalances     *prometheus.CounterVec
	groupErrors    *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	r := &registration{registerer: registerer}
	m := &metrics{
		producedRecords: r.counter("produced_records_total", "Records acknowledged by all in-sync replicas.", "topic"),
		producedBytes:   r.counter("produced_bytes_total", "Bytes of keys, values and headers acknowledged, before compression.", "topic"),
		produceErrors:   r.counter("produce_errors_total", "Failed produce requests; the retryable ones were tried again.", "topic", "kind"),
		produceSeconds:  r.histogram("produce_seconds", "Time of one produce request, in seconds.", "topic"),

		fetchedRecords:  r.counter("fetched_records_total", "Records handed to the caller.", "consumer", "topic"),
		fetchedBytes:    r.counter("fetched_bytes_total", "Bytes of keys, values and headers handed to the caller.", "consumer", "topic"),
		fetchErrors:     r.counter("fetch_errors_total", "Failed fetch requests; the retryable ones were tried again.", "consumer", "kind"),
		fetchSeconds:    r.histogram("fetch_seconds", "Time of one fetch request that brought records, in seconds; it includes the wait for the first.", "consumer"),
		batchesTooLarge: r.counter("batches_too_large_total", "Batches that were left out, as they are too large when they are decompressed.", "consumer", "topic"),
		offsetResets:    r.counter("offset_resets_total", "Times the wanted offset was gone and reading began again at the first one.", "consumer", "topic"),

		fetchLag: r.gauge("fetch_lag_records", "Records between what was fetched and the end of the partition.", "consumer", "topic", "partition"),

		commits:        r.counter("commits_total", "Successful offset commits.", "consumer"),
		commitErrors:   r.counter("commit_errors_total", "Failed offset commits; the retryable ones were tried again.", "consumer", "kind"),
		commitsSkipped: r.counter("commits_skipped_total", "Partitions left out of a commit, by reason: no longer owned, or behind what is committed.", "consumer", "reason"),
		commitSeconds:  r.histogram("commit_seconds", "Time of one offset commit request, in seconds.", "consumer"),
		rebalances:     r.counter("rebalances_total", "Times this member joined its group.", "consumer"),
		groupErrors:    r.counter("group_errors_total", "Failed attempts to join or to stay in the group.", "consumer", "kind"),
	}
	if r.err != nil {
		return nil, fmt.Errorf("kafka: %w", r.err)
	}
	return m, nil
}

// kinds are the values of the label kind.
var kinds = []string{"retryable", "permanent"}

// presetProducer creates the series of a producer that writes topics, with 0, so that a first error
// is seen as an increase. presetConsumer and presetGroup do so for a consumer.
func (m *metrics) presetProducer(topics []string) {
	for _, vector := range []*prometheus.CounterVec{m.producedRecords, m.producedBytes} {
		counters.Preset(vector, topics)
	}
	counters.Preset(m.produceErrors, topics, kinds)
	counters.PresetHistogram(m.produceSeconds, topics)
}

func (m *metrics) presetConsumer(consumer string, topics []string) {
	name := []string{consumer}
	for _, vector := range []*prometheus.CounterVec{m.fetchedRecords, m.fetchedBytes, m.offsetResets, m.batchesTooLarge} {
		counters.Preset(vector, name, topics)
	}
	counters.Preset(m.fetchErrors, name, kinds)
	counters.PresetHistogram(m.fetchSeconds, name)
}

// presetGroup creates the series that only members of a group have.
func (m *metrics) presetGroup(group string) {
	name := []string{group}
	counters.Preset(m.commits, name)
	counters.Preset(m.commitErrors, name, kinds)
	counters.Preset(m.commitsSkipped, name, []string{"not_owned", "behind"})
	counters.PresetHistogram(m.commitSeconds, name)
	counters.Preset(m.rebalances, name)
	counters.Preset(m.groupErrors, name, kinds)
}

// registration registers several collectors and joins their errors.
type registration struct {
	registerer prometheus.Registerer
	err        error
}

func (r *registration) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_kafka_" + name, Help: help}, labels))
}

func (r *registration) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mintlake_kafka_" + name, Help: help}, labels))
}

func (r *registration) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mintlake_kafka_" + name, Help: help, Buckets: latencyBuckets}, labels))
}

// register registers c and returns it. If another client of this package has registered the same
// collector before, it returns that one.
func register[C prometheus.Collector](r *registration, c C) C {
	c, err := counters.Share(r.registerer, c)
	r.err = errors.Join(r.err, err)
	return c
}
