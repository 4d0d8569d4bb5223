package kafka_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

var forever = map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func deps(t *testing.T) kafka.Deps { return kafka.Deps{Logger: kafkatest.Logger(t)} }

func newAdmin(t *testing.T, brokers []string) *kafka.Admin {
	t.Helper()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps(t))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	return admin
}

func makeTopic(t *testing.T, brokers []string, topic string, partitions int) *kafka.Admin {
	t.Helper()
	admin := newAdmin(t, brokers)
	require.NoError(t, admin.EnsureTopics(testContext(t), []kafka.TopicSpec{{Name: topic, Partitions: partitions, ReplicationFactor: 1, Config: forever}}))
	return admin
}

func newProducer(t *testing.T, brokers []string) *kafka.Producer {
	t.Helper()
	p, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, deps(t))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// longSession outlives a machine that stands still: no member may lose its partitions, and have
// records repeated, for that. With Apache Kafka it is the shortest there is, because a member that
// was lost with its broker is waited for.
func longSession(t *testing.T) time.Duration {
	if kafkatest.Apache(t) {
		return 6 * time.Second
	}
	return 2 * time.Minute
}

func newConsumer(t *testing.T, brokers []string, group string, topics ...string) *kafka.GroupConsumer {
	t.Helper()
	c, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{Brokers: brokers, Group: group, Topics: topics, SessionTimeout: longSession(t)}, deps(t))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newTailer(t *testing.T, brokers []string, start map[kafka.TopicPartition]int64, topics ...string) *kafka.Tailer {
	t.Helper()
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: topics, Start: start}, deps(t))
	require.NoError(t, err)
	t.Cleanup(tailer.Close)
	return tailer
}

// numbered is a record whose value is its number among those of its key.
func numbered(topic, key string, n int) kafka.Record {
	return kafka.Record{Topic: topic, Key: []byte(key), Value: binary.BigEndian.AppendUint64(nil, uint64(n))}
}

func number(r kafka.Record) int { return int(binary.BigEndian.Uint64(r.Value)) }

// fetcher is what FetchBatch of consumers and tailers have in common.
type fetcher interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]kafka.Record, error)
}

// fetchUntil collects batches until done says so.
func fetchUntil(t *testing.T, f fetcher, done func(all []kafka.Record) bool) []kafka.Record {
	t.Helper()
	ctx := testContext(t)
	var all []kafka.Record
	for !done(all) {
		batch, err := f.FetchBatch(ctx, 1000, 20*time.Millisecond)
		require.NoError(t, err, "after %d records", len(all))
		require.NotEmpty(t, batch)
		all = append(all, batch...)
	}
	return all
}

func atLeast(n int) func([]kafka.Record) bool {
	return func(all []kafka.Record) bool { return len(all) >= n }
}

// distinct is how many different records there are.
func distinct(n int) func([]kafka.Record) bool {
	seen := make(map[string]bool)
	read := 0
	return func(all []kafka.Record) bool {
		for ; read < len(all); read++ {
			seen[fmt.Sprintf("%s/%d", all[read].Key, number(all[read]))] = true
		}
		return len(seen) >= n
	}
}

// requireOrder checks that each key's numbers first appear as 0, 1, 2 …; repeats of what was there
// already are allowed.
func requireOrder(t *testing.T, all []kafka.Record) {
	t.Helper()
	next := make(map[string]int)
	for _, r := range all {
		key := string(r.Key)
		require.LessOrEqual(t, number(r), next[key], "key %s skips a record", key)
		if number(r) == next[key] {
			next[key]++
		}
	}
}

// counter sums a counter over its labels.
func counter(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	sum := 0.0
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
