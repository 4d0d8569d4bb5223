package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
)

// TestTablesCatchUpWithALog: a bootstrap waits for what the log has when it asks, and not for what
// comes later. If no node can store it, the error says what to do.
func TestTablesCatchUpWithALog(t *testing.T) {
	brokers := kafkatest.Start(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	var specs []kafka.TopicSpec
	for _, topic := range topicsOfBalances {
		specs = append(specs, kafka.TopicSpec{Name: topic, Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}})
	}
	require.NoError(t, admin.EnsureTopics(t.Context(), specs))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(producer.Close)
	s := &system{admin: admin}
	tables := &nodeTables{admin: admin, alone: "start mintlake up"}

	has, err := s.hasBalances(t.Context())
	require.NoError(t, err)
	require.False(t, has)
	require.NoError(t, tables.CatchUp(t.Context(), nil), "an empty log")

	write := func() {
		require.NoError(t, producer.Produce(t.Context(), kafka.Record{Topic: schemas.TopicBalances, Value: []byte("x")}))
	}
	write()
	has, err = s.hasBalances(t.Context())
	require.NoError(t, err)
	require.True(t, has)
	require.ErrorContains(t, tables.CatchUp(t.Context(), nil), "the tables lack 1 records of balances, and no node runs on this log that could store them: start mintlake up")

	tables.alone = ""
	consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{Brokers: brokers, Group: schemas.GroupBalances, Topics: topicsOfBalances}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(consumer.Close)
	var told []int64
	require.NoError(t, tables.CatchUp(t.Context(), func(left int64) {
		if told = append(told, left); len(told) > 1 {
			return
		}
		records, err := consumer.FetchBatch(t.Context(), 1, time.Millisecond)
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.NoError(t, consumer.Commit(t.Context(), records))
		write()
	}))
	require.Equal(t, []int64{1}, told)

	stopped, stop := context.WithCancel(t.Context())
	require.ErrorIs(t, tables.CatchUp(stopped, func(int64) { stop() }), context.Canceled)
}
