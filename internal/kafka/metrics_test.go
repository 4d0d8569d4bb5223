package kafka_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Counters of clients exist before the first record and the first trouble, so that increase() sees
// it.
func TestCountersBeginAtZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	deps, brokers := kafka.Deps{Registerer: registry}, []string{"127.0.0.1:1"}
	group, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{Brokers: brokers, Group: "g", Topics: []string{"a", "b"}}, deps)
	require.NoError(t, err)
	defer group.Close()
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Name: "t", Topics: []string{"a"}}, deps)
	require.NoError(t, err)
	defer tailer.Close()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topics: []string{"a"}}, deps)
	require.NoError(t, err)
	defer producer.Close()
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP mintlake_kafka_offset_resets_total Times the wanted offset was gone and reading began again at the first one.
# TYPE mintlake_kafka_offset_resets_total counter
mintlake_kafka_offset_resets_total{consumer="g",topic="a"} 0
mintlake_kafka_offset_resets_total{consumer="g",topic="b"} 0
mintlake_kafka_offset_resets_total{consumer="t",topic="a"} 0
# HELP mintlake_kafka_produce_errors_total Failed produce requests; the retryable ones were tried again.
# TYPE mintlake_kafka_produce_errors_total counter
mintlake_kafka_produce_errors_total{kind="permanent",topic="a"} 0
mintlake_kafka_produce_errors_total{kind="retryable",topic="a"} 0
`), "mintlake_kafka_offset_resets_total", "mintlake_kafka_produce_errors_total"))
	require.False(t, group.Joined())
}
