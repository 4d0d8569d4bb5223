package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// The contract of this package, against the broker that MINTLAKE_TEST_KAFKA names.

func TestRoundTrip(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	makeTopic(t, brokers, "round-trip", 1)
	before := time.Now().Add(-time.Second)
	in := []kafka.Record{
		{Topic: "round-trip", Key: []byte("mint"), Value: []byte("value"), Headers: []kafka.Header{{Key: "b", Value: []byte{0}}, {Key: "a", Value: []byte("x")}, {Key: "b", Value: nil}}},
		{Topic: "round-trip", Key: []byte("mint"), Value: []byte{}},
		{Topic: "round-trip", Key: []byte("mint"), Value: nil},
		{Topic: "round-trip", Value: []byte("no key")},
		{Topic: "round-trip", Key: []byte("big"), Value: []byte(strings.Repeat("x", 900_000))},
	}
	require.NoError(t, newProducer(t, brokers).Produce(ctx, in...))
	out := fetchUntil(t, newTailer(t, brokers, nil, "round-trip"), atLeast(len(in)))
	require.Len(t, out, len(in))
	for i := range in {
		require.Equal(t, "round-trip", out[i].Topic)
		require.Equal(t, int64(i), out[i].Offset)
		require.Equal(t, in[i].Key, out[i].Key, "record %d", i)
		require.Equal(t, in[i].Value, out[i].Value, "record %d", i)
		require.WithinRange(t, out[i].Time, before, time.Now().Add(time.Second))
	}
	require.Len(t, out[0].Headers, 3)
	for i, h := range in[0].Headers {
		require.Equal(t, h.Key, out[0].Headers[i].Key)
		require.Equal(t, string(h.Value), string(out[0].Headers[i].Value))
	}
	require.Empty(t, out[1].Headers)
}

func TestCompression(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	makeTopic(t, brokers, "compressed", 1)
	codecs := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	for i, codec := range codecs {
		producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Compression: codec}, deps(t))
		require.NoError(t, err)
		var records []kafka.Record
		for n := range 100 {
			records = append(records, numbered("compressed", codec, n))
		}
		require.NoError(t, producer.Produce(ctx, records...), codec)
		producer.Close()
		all := fetchUntil(t, newTailer(t, brokers, nil, "compressed"), atLeast(100*(i+1)))
		require.Len(t, all, 100*(i+1))
		requireOrder(t, all)
	}
	_, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Compression: "brotli"}, deps(t))
	require.ErrorContains(t, err, "brotli")
}

func TestProduceKeepsOrderPerKey(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	makeTopic(t, brokers, "order", 4)
	producer := newProducer(t, brokers)
	const callers, keys, each = 4, 5, 400
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for from := 0; from < each; from += 100 {
				var records []kafka.Record
				for n := from; n < from+100; n++ {
					for key := range keys {
						records = append(records, numbered("order", fmt.Sprintf("%d-%d", caller, key), n))
					}
				}
				if err := producer.Produce(ctx, records...); err != nil {
					t.Errorf("produce: %v", err)
				}
			}
		})
	}
	wg.Wait()
	all := fetchUntil(t, newTailer(t, brokers, nil, "order"), atLeast(callers*keys*each))
	require.Len(t, all, callers*keys*each)
	requireOrder(t, all)
	partitions := make(map[string]int)
	for _, r := range all {
		if p, ok := partitions[string(r.Key)]; ok {
			require.Equal(t, p, r.Partition, "key %s is in two partitions", r.Key)
		}
		partitions[string(r.Key)] = r.Partition
		require.Equal(t, kafka.PartitionOf(r.Key, 4), r.Partition)
	}
}

func TestProduceRefusesWhatIsTooLarge(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	admin := makeTopic(t, brokers, "large", 1)
	small := kafka.Record{Topic: "large", Value: []byte("small")}
	large := kafka.Record{Topic: "large", Value: make([]byte, 2<<20)}
	require.ErrorIs(t, newProducer(t, brokers).Produce(ctx, small, large), kafka.ErrRecordTooLarge)
	// A producer that thinks the topic takes more hears the broker's permanent error, and does not
	// retry it until ctx ends.
	mistaken, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}.WithMaxRecordBytes(4<<20), deps(t))
	require.NoError(t, err)
	defer mistaken.Close()
	err = mistaken.Produce(ctx, large)
	require.Error(t, err)
	require.False(t, kafka.Retryable(err), "%v", err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	ends, err := admin.EndOffsets(ctx, []string{"large"})
	require.NoError(t, err)
	require.Zero(t, ends[kafka.TopicPartition{Topic: "large"}])
}

func TestProduceToUnknownTopicEndsWithItsContext(t *testing.T) {
	brokers := kafkatest.Start(t)
	registry := prometheus.NewRegistry()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{Registerer: registry})
	require.NoError(t, err)
	defer producer.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		for ctx.Err() == nil && counter(t, registry, "mintlake_kafka_produce_errors_total") < 2 {
			time.Sleep(time.Millisecond)
		}
		cancel(context.DeadlineExceeded)
	}()
	err = producer.Produce(ctx, kafka.Record{Topic: "missing", Value: []byte("x")})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "missing", "the error tells what was failing")
}

func TestCommitAndRefetch(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	admin := makeTopic(t, brokers, "commit", 2)
	const total = 200
	var records []kafka.Record
	for n := range total {
		records = append(records, numbered("commit", fmt.Sprintf("key-%d", n%7), n/7))
	}
	require.NoError(t, newProducer(t, brokers).Produce(ctx, records...))
	lag, err := admin.Lag(ctx, "group", []string{"commit"})
	require.NoError(t, err)
	require.EqualValues(t, total, lag, "nothing committed counts from the start")

	first := newConsumer(t, brokers, "group", "commit")
	all := fetchUntil(t, first, atLeast(total))
	require.Len(t, all, total)
	committed := all[:total/2]
	require.NoError(t, first.Commit(ctx, committed))
	lag, err = admin.Lag(ctx, "group", []string{"commit"})
	require.NoError(t, err)
	first.Close()

	next := make(map[int]int64)
	for _, r := range committed {
		next[r.Partition] = r.Offset + 1
	}
	offsets, err := admin.CommittedOffsets(ctx, "group", []string{"commit"})
	require.NoError(t, err)
	for partition, offset := range next {
		require.Equal(t, offset, offsets[kafka.TopicPartition{Topic: "commit", Partition: partition}])
	}
	require.EqualValues(t, total/2, lag)
	for partition, offset := range next {
		ends := map[kafka.TopicPartition]int64{{Topic: "commit", Partition: partition}: offset}
		lag, err = admin.LagTo(ctx, "group", []string{"commit"}, ends)
		require.NoError(t, err)
		require.Zero(t, lag, "what comes behind does not count")
		lag, err = admin.LagTo(ctx, "nobody", []string{"commit"}, ends)
		require.NoError(t, err)
		require.Equal(t, offset, lag)
	}

	second := newConsumer(t, brokers, "group", "commit")
	rest := fetchUntil(t, second, atLeast(total/2))
	require.Len(t, rest, total/2, "what was committed does not come again, all else does")
	for _, r := range rest {
		require.GreaterOrEqual(t, r.Offset, next[r.Partition])
	}
	require.NoError(t, second.Commit(ctx, rest))
	require.NoError(t, second.Commit(ctx, committed), "an old commit is left out")
	lag, err = admin.Lag(ctx, "group", []string{"commit"})
	require.NoError(t, err)
	require.Zero(t, lag, "an old commit does not rewind")
}

func TestFetchBatchBounds(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	makeTopic(t, brokers, "bounds", 1)
	producer := newProducer(t, brokers)
	consumer := newConsumer(t, brokers, "bounds", "bounds")
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	_, err := consumer.FetchBatch(short, 10, time.Second)
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)

	var records []kafka.Record
	for n := range 25 {
		records = append(records, numbered("bounds", "k", n))
	}
	require.NoError(t, producer.Produce(ctx, records...))
	var sizes []int
	for sum := 0; sum < 25; {
		batch, err := consumer.FetchBatch(ctx, 10, 200*time.Millisecond)
		require.NoError(t, err)
		sizes = append(sizes, len(batch))
		sum += len(batch)
	}
	require.Equal(t, []int{10, 10, 5}, sizes)

	go func() {
		time.Sleep(200 * time.Millisecond)
		_ = producer.Produce(ctx, numbered("bounds", "k", 25))
	}()
	start := time.Now()
	batch, err := consumer.FetchBatch(ctx, 10, 0)
	require.NoError(t, err)
	require.Len(t, batch, 1)
	require.Less(t, time.Since(start), 2*time.Minute, "a waiting fetch is answered as the record arrives")
	consumer.Close()
	_, err = consumer.FetchBatch(ctx, 10, 0)
	require.ErrorIs(t, err, kafka.ErrClosed)
}

func TestTwoMembersShareAGroup(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	admin := makeTopic(t, brokers, "shared", 4)
	producer := newProducer(t, brokers)
	const total = 4000
	seen := make(map[string]int)
	var mu sync.Mutex
	consume := func(c *kafka.GroupConsumer, stop context.Context) {
		for stop.Err() == nil {
			batch, err := c.FetchBatch(stop, 50, 5*time.Millisecond)
			if err != nil {
				return
			}
			mu.Lock()
			for _, r := range batch {
				seen[fmt.Sprintf("%s/%d", r.Key, number(r))]++
			}
			mu.Unlock()
			// A member that is closed between the two leaves its batch to the others.
			if err := c.Commit(ctx, batch); err != nil && !errors.Is(err, kafka.ErrClosed) {
				t.Errorf("commit: %v", err)
			}
		}
	}
	var wg sync.WaitGroup
	stop, cancel := context.WithCancel(ctx)
	members := []*kafka.GroupConsumer{newConsumer(t, brokers, "shared", "shared"), newConsumer(t, brokers, "shared", "shared"), newConsumer(t, brokers, "shared", "shared")}
	for i, member := range members {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 400 * time.Millisecond)
			consume(member, stop)
		})
	}
	for from := 0; from < total; from += 100 {
		var records []kafka.Record
		for n := from; n < from+100; n++ {
			records = append(records, numbered("shared", fmt.Sprintf("k%d", n%13), n))
		}
		require.NoError(t, producer.Produce(ctx, records...))
		time.Sleep(30 * time.Millisecond)
		if from == total/2 {
			members[0].Close() // leaves in the middle
		}
	}
	require.Eventually(t, func() bool {
		lag, err := admin.Lag(ctx, "shared", []string{"shared"})
		return err == nil && lag == 0
	}, 2*time.Minute, 50*time.Millisecond)
	cancel()
	wg.Wait()
	require.Len(t, seen, total, "every record reached a member")
}

func TestTailerFromOffsets(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	admin := makeTopic(t, brokers, "tail", 2)
	producer := newProducer(t, brokers)
	for n := range 50 {
		require.NoError(t, producer.Produce(ctx, numbered("tail", "a", n), numbered("tail", "b", n)))
	}
	ends, err := admin.EndOffsets(ctx, []string{"tail"})
	require.NoError(t, err)
	a := kafka.TopicPartition{Topic: "tail", Partition: kafka.PartitionOf([]byte("a"), 2)}
	b := kafka.TopicPartition{Topic: "tail", Partition: kafka.PartitionOf([]byte("b"), 2)}
	require.NotEqual(t, a, b, "choose keys of different partitions")
	require.Equal(t, map[kafka.TopicPartition]int64{a: 50, b: 50}, ends)

	tailer := newTailer(t, brokers, map[kafka.TopicPartition]int64{a: 40}, "tail")
	all := fetchUntil(t, tailer, atLeast(60))
	require.Len(t, all, 60)
	for _, r := range all {
		if string(r.Key) == "a" {
			require.GreaterOrEqual(t, number(r), 40)
		}
	}
	require.Equal(t, ends, tailer.Positions())
	require.Eventually(t, func() bool { lag, known := tailer.Lag(); return known && lag == 0 }, time.Minute, 10*time.Millisecond)

	// An offset beyond the end: the topic was made anew, or a machine lost data. Reading begins at
	// the first record.
	registry := prometheus.NewRegistry()
	lost, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: []string{"tail"}, Start: map[kafka.TopicPartition]int64{a: 4000, b: 50}},
		kafka.Deps{Logger: kafkatest.Logger(t), Registerer: registry})
	require.NoError(t, err)
	defer lost.Close()
	all = fetchUntil(t, lost, atLeast(50))
	require.Len(t, all, 50)
	requireOrder(t, all)
	require.Equal(t, 1.0, counter(t, registry, "mintlake_kafka_offset_resets_total"))
}

func TestEnsureTopics(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	admin := newAdmin(t, brokers)
	spec := kafka.TopicSpec{Name: "ensured", Partitions: 3, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "604800000", "retention.bytes": "-1"}}
	other := kafka.TopicSpec{Name: "ensured.other", Partitions: 1, ReplicationFactor: 1, Config: forever}
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{spec}))
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{spec, other}), "twice, and with one more")
	settings, err := admin.TopicConfig(ctx, "ensured")
	require.NoError(t, err)
	require.Equal(t, "604800000", settings["retention.ms"])
	require.Equal(t, "-1", settings["retention.bytes"])

	spec.Config = forever
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{spec}))
	// A broker of Apache Kafka answers what it has read of the controller's log, which may be late.
	require.Eventually(t, func() bool {
		settings, err = admin.TopicConfig(ctx, "ensured")
		return err == nil && settings["retention.ms"] == "-1"
	}, 30*time.Second, 100*time.Millisecond, "an existing topic gets the new retention: %v, %v", settings, err)

	spec.Partitions = 4
	err = admin.EnsureTopics(ctx, []kafka.TopicSpec{spec, other})
	require.ErrorIs(t, err, kafka.ErrPartitionCount)
	require.ErrorContains(t, err, "ensured has 3, wanted 4")

	for name, config := range map[string]map[string]string{
		"no retention":    nil,
		"no bytes":        {"retention.ms": "-1"},
		"not a number":    {"retention.ms": "7d", "retention.bytes": "-1"},
		"below minus one": {"retention.ms": "-2", "retention.bytes": "-1"},
	} {
		err := admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "refused", Partitions: 1, ReplicationFactor: 1, Config: config}})
		require.ErrorIs(t, err, kafka.ErrTopicSpec, name)
	}
	err = admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "refused", Partitions: 1, ReplicationFactor: 3, Config: forever}})
	require.Error(t, err, "more replicas than brokers")
	require.False(t, kafka.Retryable(err))
}

func TestEnsureTopicsAtOnce(t *testing.T) {
	brokers := kafkatest.Start(t)
	ctx := testContext(t)
	var specs []kafka.TopicSpec
	for i := range 5 {
		specs = append(specs, kafka.TopicSpec{Name: fmt.Sprintf("at-once-%d", i), Partitions: 2, ReplicationFactor: 1, Config: forever})
	}
	var wg sync.WaitGroup
	for range 4 {
		admin := newAdmin(t, brokers)
		wg.Go(func() {
			if err := admin.EnsureTopics(ctx, specs); err != nil {
				t.Errorf("ensure topics: %v", err)
			}
		})
	}
	wg.Wait()
}
