package kafka_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// TestKilledLeaderOfThreeBrokers kills the leader of a partition under load, twice, with the killed
// one back in between. Each record is there, in order, and a group sees all of them. A record is
// there twice only where its acknowledgement was lost with a leader. That rooms write nothing
// double then is TestRoomsOverThreeBrokers' to show.
func TestKilledLeaderOfThreeBrokers(t *testing.T) {
	if !kafkatest.Apache(t) {
		t.Skip("the embedded broker has no clusters: make test-kafka and make test-containers run this")
	}
	brokers := kafkatest.StartBrokers(t, 3)
	var addrs []string
	for _, b := range brokers {
		addrs = append(addrs, b.Brokers()...)
	}
	ctx := testContext(t)
	admin := newAdmin(t, addrs)
	const topic, partitions, keys, kills = "killed-leader", 3, 6, 2
	// A controller may not know of each broker yet.
	require.Eventually(t, func() bool {
		return admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: topic, Partitions: partitions, ReplicationFactor: 3, Config: forever}}) == nil
	}, time.Minute, 100*time.Millisecond)

	settings, err := admin.TopicConfig(ctx, topic)
	require.NoError(t, err)
	require.Equal(t, "2", settings["min.insync.replicas"], "an acknowledged record lies on two brokers")

	var rounds atomic.Int64
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	producing := make(chan error, 1)
	producer := newProducer(t, addrs)
	go func() {
		producing <- func() error {
			for n := 0; stop.Err() == nil; n++ {
				var records []kafka.Record
				for key := range keys {
					records = append(records, numbered(topic, fmt.Sprintf("k%d", key), n))
				}
				if err := producer.Produce(ctx, records...); err != nil {
					return err
				}
				rounds.Add(1)
				time.Sleep(time.Millisecond)
			}
			return nil
		}()
	}()
	consumed := make(chan []kafka.Record, 1)
	var total atomic.Int64 // 0 until it is known
	consumer := newConsumer(t, addrs, topic, topic)
	go func() {
		var all []kafka.Record
		done := distinctCounter()
		for total.Load() == 0 || done(all) < total.Load() {
			if ctx.Err() != nil {
				break
			}
			wait, cancel := context.WithTimeout(ctx, time.Second)
			batch, err := consumer.FetchBatch(wait, 500, 10*time.Millisecond)
			cancel()
			if err != nil {
				continue // nothing for a second
			}
			all = append(all, batch...)
			if err := consumer.Commit(ctx, batch); err != nil {
				t.Errorf("commit: %v", err)
				break
			}
		}
		consumed <- all
	}()

	progress := func() {
		t.Helper()
		before := rounds.Load()
		require.Eventually(t, func() bool { return rounds.Load() > before+100 }, 2*time.Minute, 10*time.Millisecond, "records are written")
	}
	for round := range kills {
		progress()
		leader := kafkatest.Leader(t, addrs, topic, 0)
		victim := brokers[slices.Index(addrs, leader)]
		start := time.Now()
		victim.Kill()
		require.Eventually(t, func() bool { next := kafkatest.Leader(t, addrs, topic, 0); return next != "" && next != leader }, time.Minute, 50*time.Millisecond,
			"another broker leads")
		progress()
		t.Logf("round %d: %s was killed; another leads and takes records %s later", round, leader, time.Since(start).Round(10*time.Millisecond))
		victim.Start()
	}
	progress()
	cancel()
	require.NoError(t, <-producing)
	written := int(rounds.Load()) * keys
	total.Store(int64(written))

	ends, err := admin.EndOffsets(ctx, []string{topic})
	require.NoError(t, err)
	held := 0
	for _, end := range ends {
		held += int(end)
	}
	all := fetchUntil(t, newTailer(t, addrs, nil, topic), atLeast(held))
	requireOrder(t, all)
	require.EqualValues(t, written, distinctCounter()(all), "nothing lost")
	require.Len(t, all, held, "a tailer repeats nothing")
	// One call is under way when a leader is killed, and may be sent again twice while the next one
	// is found.
	require.LessOrEqual(t, held-written, kills*2*keys, "repeated")
	grouped := <-consumed
	requireOrder(t, grouped)
	require.EqualValues(t, written, distinctCounter()(grouped), "nothing lost")
	t.Logf("%d records written, %d of them twice, %d delivered to the group", written, held-written, len(grouped))
}
