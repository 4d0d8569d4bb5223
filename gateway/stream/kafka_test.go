package stream

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
)

// TestFromKafka joins the stream to a broker as the binary does: what lay on the topic before is
// not repeated, what comes after arrives.
func TestFromKafka(t *testing.T) {
	brokers := kafkatest.Start(t)
	deps := kafka.Deps{Logger: kafkatest.Logger(t), Registerer: prometheus.NewRegistry()}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps)
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	for _, topic := range schemas.Topics() {
		if topic.Name == schemas.TopicTransactions {
			require.NoError(t, admin.EnsureTopics(t.Context(), []kafka.TopicSpec{{
				Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config(),
			}}))
		}
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, deps)
	require.NoError(t, err)
	t.Cleanup(func() { producer.Close() })
	require.NoError(t, producer.Produce(t.Context(), tx{number: 1}.record()))

	s, err := New(Config{Addr: "127.0.0.1:0"}, Deps{Keys: &keys.Static{}, Offsets: admin, Logger: kafkatest.Logger(t), Registerer: prometheus.NewRegistry(),
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: topics, Start: start, Name: "stream"}, deps)
		}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-s.Ready()
	f := &fixture{Server: s}
	stream := f.subscribe(t, filters{"all": {}})
	<-s.fed // the end of the topic is known: what comes now is new
	require.NoError(t, producer.Produce(t.Context(), tx{number: 2}.record()))
	n, _ := next(t, stream)
	require.EqualValues(t, 2, n)
}
