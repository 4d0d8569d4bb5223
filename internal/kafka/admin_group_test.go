package kafka_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/kafka/kafkatest"
)

func TestAForgottenGroupBeginsAnew(t *testing.T) {
	brokers, ctx := kafkatest.Start(t), testContext(t)
	admin := makeTopic(t, brokers, "forget", 2)
	require.NoError(t, admin.ForgetGroup(ctx, "nobody"), "a group that does not exist")

	producer := newProducer(t, brokers)
	require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: "forget", Key: []byte("k"), Value: []byte("v")}))
	for range 2 {
		member := newConsumer(t, brokers, "reader", "forget")
		records, err := member.FetchBatch(ctx, 10, 10*time.Millisecond)
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.NoError(t, member.Commit(ctx, records))
		go func() { // the group is forgotten once its member has left
			time.Sleep(time.Second)
			member.Close()
		}()
		require.NoError(t, admin.ForgetGroup(ctx, "reader"))
		committed, err := admin.CommittedOffsets(ctx, "reader", []string{"forget"})
		require.NoError(t, err)
		require.Empty(t, committed)
	}
}
