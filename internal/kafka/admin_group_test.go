package kafka_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
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

// TestAGroupGoesOnWhereItIsSet: its next member reads from the offset that was set, and a partition
// without one from its first record.
func TestAGroupGoesOnWhereItIsSet(t *testing.T) {
	brokers, ctx := kafkatest.Start(t), testContext(t)
	admin := makeTopic(t, brokers, "reset", 2)
	producer := newProducer(t, brokers)
	for n := range 40 {
		require.NoError(t, producer.Produce(ctx, numbered("reset", fmt.Sprint("key ", n), n)))
	}
	read := func(want int) map[int][]int64 {
		t.Helper()
		member := newConsumer(t, brokers, "reader", "reset")
		defer member.Close()
		offsets := map[int][]int64{}
		for got := 0; got < want; {
			records, err := member.FetchBatch(ctx, 100, 10*time.Millisecond)
			require.NoError(t, err)
			for _, r := range records {
				offsets[r.Partition] = append(offsets[r.Partition], r.Offset)
			}
			got += len(records)
			require.NoError(t, member.Commit(ctx, records))
		}
		return offsets
	}
	all := read(40)
	require.Len(t, all, 2, "both partitions have records")

	last := int64(len(all[1]) - 1)
	require.NoError(t, admin.ResetGroup(ctx, "reader", map[kafka.TopicPartition]int64{{Topic: "reset", Partition: 1}: last}))
	committed, err := admin.CommittedOffsets(ctx, "reader", []string{"reset"})
	require.NoError(t, err)
	require.Equal(t, map[kafka.TopicPartition]int64{{Topic: "reset", Partition: 1}: last}, committed)
	again := read(len(all[0]) + 1)
	require.Equal(t, map[int][]int64{0: all[0], 1: {last}}, again)

	id, err := admin.ClusterID(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, id)
}
