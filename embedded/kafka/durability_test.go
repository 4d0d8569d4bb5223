package kafka_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// TestKillLosesNoAcknowledgedRecord: four writers, a child process that is killed at random
// moments, and at the end every record whose Produce returned nil is there, and every offset whose
// Commit returned nil.
func TestKillLosesNoAcknowledgedRecord(t *testing.T) {
	if kafkatest.Apache(t) {
		t.Skip("this is about the embedded broker")
	}
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	broker := kafkatest.StartBroker(t)
	ctx := testContext(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: broker.Brokers()}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	topics := []kafka.TopicSpec{{Name: "durable", Partitions: 3, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}}}
	require.NoError(t, admin.EnsureTopics(ctx, topics))

	var mu sync.Mutex
	acked := make(map[string]bool)
	write := func(stop context.Context, writer, round int) {
		producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: broker.Brokers()}, kafka.Deps{})
		if err != nil {
			t.Errorf("new producer: %v", err)
			return
		}
		defer producer.Close()
		for n := 0; stop.Err() == nil; n++ {
			var records []kafka.Record
			for i := range 1 + n%20 {
				records = append(records, kafka.Record{Topic: "durable", Key: fmt.Appendf(nil, "w%d", i), Value: fmt.Appendf(nil, "%d/%d/%d/%d", writer, round, n, i)})
			}
			if producer.Produce(stop, records...) != nil {
				return
			}
			mu.Lock()
			for _, r := range records {
				acked[string(r.Value)] = true
			}
			mu.Unlock()
		}
	}
	committed := make(map[kafka.TopicPartition]int64)
	for round := range rounds {
		stop, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for writer := range 4 {
			wg.Go(func() { write(stop, writer, round) })
		}
		consumer, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{Brokers: broker.Brokers(), Group: "durable", Topics: []string{"durable"}, SessionTimeout: time.Second}, kafka.Deps{})
		require.NoError(t, err)
		wg.Go(func() {
			for stop.Err() == nil {
				batch, err := consumer.FetchBatch(stop, 100, time.Millisecond)
				if err != nil || consumer.Commit(stop, batch) != nil {
					return
				}
				mu.Lock()
				for _, r := range batch {
					tp := kafka.TopicPartition{Topic: r.Topic, Partition: r.Partition}
					committed[tp] = max(committed[tp], r.Offset+1)
				}
				mu.Unlock()
			}
		})
		// Until the first round has committed, however long joining takes here, a kill would prove
		// nothing.
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(acked) > 0 && len(committed) > 0
		}, 4*time.Minute, time.Millisecond)
		time.Sleep(time.Duration(100+rand.IntN(300)) * time.Millisecond)
		broker.Kill()
		cancel()
		wg.Wait()
		consumer.Close()
		broker.Start()
	}

	ends, err := admin.EndOffsets(ctx, []string{"durable"})
	require.NoError(t, err)
	var total int64
	for _, end := range ends {
		total += end
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: broker.Brokers(), Topics: []string{"durable"}}, kafka.Deps{})
	require.NoError(t, err)
	defer tailer.Close()
	there := make(map[string]bool)
	for read := int64(0); read < total; {
		batch, err := tailer.FetchBatch(ctx, 1000, 10*time.Millisecond)
		require.NoError(t, err)
		for _, r := range batch {
			there[string(r.Value)] = true
		}
		read += int64(len(batch))
	}
	missing := 0
	for value := range acked {
		if !there[value] {
			missing++
		}
	}
	require.Zero(t, missing, "of %d acknowledged records", len(acked))
	offsets, err := admin.CommittedOffsets(ctx, "durable", []string{"durable"})
	require.NoError(t, err)
	for tp, offset := range committed {
		require.GreaterOrEqual(t, offsets[tp], offset, "%s", tp)
	}
	require.NotEmpty(t, committed)
	t.Logf("%d kills, %d acknowledged records, %d there", rounds, len(acked), len(there))
}
