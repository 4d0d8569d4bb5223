package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// rebuildTest is a log and tables for `mintlake rebuild`.
type rebuildTest struct {
	*testing.T
	admin *kafka.Admin
	query func(to any, query string)
	exec  func(statements ...string)
	flags []string
}

// newRebuildTest makes tables beside the log of brokers.
func newRebuildTest(t *testing.T, brokers []string) *rebuildTest {
	conn, dsn := chtest.Migrated(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	require.NoError(t, admin.EnsureTopics(t.Context(), topicSpecs(4, 1)))
	return &rebuildTest{
		T: t, admin: admin, flags: []string{"--kafka-brokers", strings.Join(brokers, ","), "--clickhouse-dsn", dsn},
		query: func(to any, query string) {
			t.Helper()
			require.NoError(t, conn.QueryRow(t.Context(), query).Scan(to), query)
		},
		exec: func(statements ...string) {
			t.Helper()
			for _, s := range statements {
				require.NoError(t, conn.Exec(t.Context(), s), s)
			}
		},
	}
}

func (r *rebuildTest) rebuild(args ...string) (string, error) {
	r.Helper()
	return runCommand(r.T, append(append([]string{"rebuild"}, args...), r.flags...)...)
}

func (r *rebuildTest) detached() (names []string) {
	r.query(&names, "SELECT arraySort(groupArray(name)) FROM system.detached_parts WHERE database = '"+schema.Database+"'")
	return names
}

// write writes records of a slot to a topic.
func (r *rebuildTest) write(brokers []string, topic string, slot uint64, at time.Time, count int) {
	r.Helper()
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(r, err)
	defer producer.Close()
	position := kafka.Header{Key: schemas.HeaderPosition, Value: fmt.Appendf(nil, "%016x%016x", slot, 0)}
	for range count {
		require.NoError(r, producer.Produce(r.Context(), kafka.Record{Topic: topic, Key: []byte("k"), Value: []byte("v"), Time: at, Headers: []kafka.Header{position}}))
	}
}

// TestRebuildKeepsPartsThatTheLogCannotMakeAgain: a part that this run did not put aside stays, and
// so does a broken one, unless the log has all of its rows.
func TestRebuildKeepsPartsThatTheLogCannotMakeAgain(t *testing.T) {
	brokers := kafkatest.Start(t)
	r := newRebuildTest(t, brokers)
	require.NoError(t, r.admin.ResetGroup(t.Context(), schemas.GroupSwaps, map[kafka.TopicPartition]int64{{Topic: schemas.TopicSwaps}: 0}))
	r.exec("INSERT INTO mintlake.swaps_raw (slot) VALUES (5)", "ALTER TABLE mintlake.swaps_raw DETACH PARTITION 0")
	operators := r.detached()
	require.Len(t, operators, 1)

	// flip makes a part broken.
	flip := func() {
		t.Helper()
		r.exec("INSERT INTO mintlake.swaps_raw (slot) VALUES (1000005)")
		var folder string
		r.query(&folder, "SELECT path FROM system.parts WHERE database = 'mintlake' AND table = 'swaps_raw' AND active")
		files, err := filepath.Glob(filepath.Join(folder, "*.bin"))
		require.NoError(t, err)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		text[len(text)/2] ^= 4
		require.NoError(t, os.WriteFile(files[0], text, 0o600))
	}
	flip()
	out, err := r.rebuild("--tables", "swaps_raw")
	require.NoError(t, err, out)
	require.Contains(t, r.detached(), operators[0])
	require.Len(t, r.detached(), 2, "the log has no record of the leg")
	require.Contains(t, out, operators[0]+" stays: it is not this command")
	require.Contains(t, out, "it may have rows that the log no longer has")

	r.write(brokers, schemas.TopicSwaps, 1000005, time.Now(), 2)
	flip()
	out, err = r.rebuild("--tables", "swaps_raw")
	require.NoError(t, err, out)
	require.Len(t, r.detached(), 2, "the log has both records of the leg")
}

// TestRebuildDropsNoHistoryUnasked: it says what only the tables have, and drops that only when it
// is told to.
func TestRebuildDropsNoHistoryUnasked(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	var brokers []string
	serve := func() (stop func()) {
		broker, err := embedded.New(embedded.Config{DataDir: dir, Addr: "127.0.0.1:0"}, embedded.Deps{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- broker.Run(ctx) }()
		require.NoError(t, broker.WaitReady(t.Context()))
		brokers = []string{broker.Addr()}
		return func() {
			cancel()
			require.NoError(t, <-done)
		}
	}
	stop := serve()
	r := newRebuildTest(t, brokers)
	r.exec("INSERT INTO mintlake.swaps_raw (slot) VALUES (5), (6), (7)", "INSERT INTO mintlake.token_events_raw (slot) VALUES (5)")
	legs := func() (count uint64) {
		r.query(&count, "SELECT count() FROM mintlake.swaps_raw")
		return count
	}
	_, err := r.rebuild()
	require.ErrorContains(t, err, "swaps_raw has 3 rows, from slot 5 on, which take 6 records; the log (chain.swaps.v1) has 0")
	require.ErrorContains(t, err, "token_events_raw has 1 rows")
	require.ErrorContains(t, err, "--lose-history")
	require.EqualValues(t, 3, legs())

	// The log has all of it, some in more than one copy. Then the first records expire.
	old := now.Add(-31 * 24 * time.Hour)
	r.write(brokers, schemas.TopicTokenEvents, 5, now, 1)
	r.write(brokers, schemas.TopicSwaps, 5, old, 4)
	stop()
	files, err := filepath.Glob(filepath.Join(dir, "broker/partitions/chain.swaps.v1-*/*.dat"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		require.NoError(t, os.Chtimes(file, old, old))
	}
	defer func() { stop() }()
	stop = serve()
	r.flags[1] = brokers[0]
	r.write(brokers, schemas.TopicSwaps, 6, now, 6)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	require.Eventually(t, func() bool {
		starts, err := admin.StartOffsets(t.Context(), []string{schemas.TopicSwaps})
		return err == nil && slices.Contains(slices.Collect(maps.Values(starts)), 4)
	}, time.Minute, 10*time.Millisecond)
	_, err = r.rebuild()
	require.ErrorContains(t, err, "swaps_raw begins at slot 5, the log (chain.swaps.v1) at slot 6")
	require.NotContains(t, err.Error(), "token_events_raw")
	require.EqualValues(t, 3, legs())

	out, err := r.rebuild("--lose-history")
	require.NoError(t, err, out)
	require.Zero(t, legs())
	out, err = r.rebuild()
	require.NoError(t, err, out)
}

// TestOffsetsBehindTheLogAreTold: a group that is further than the log was waited for without end.
func TestOffsetsBehindTheLogAreTold(t *testing.T) {
	r := newRebuildTest(t, kafkatest.Start(t))
	require.NoError(t, r.admin.ResetGroup(t.Context(), schemas.GroupProjector, map[kafka.TopicPartition]int64{{Topic: schemas.TopicTokenEvents, Partition: 2}: 7}))
	const want = "the log of chain.token-events.v1/2 ends at offset 0, but the consumer group mintlake-projector has committed 7"
	_, err := runCommand(t, append([]string{"verify"}, r.flags...)...)
	require.ErrorContains(t, err, want)
	require.ErrorContains(t, err, "offsets reset --first")
	var copies uint64
	r.query(&copies, "SELECT count() FROM system.databases WHERE name = 'mintlake_verify'")
	require.Zero(t, copies, "a comparison that fails leaves no copy of the rows")
	_, err = r.rebuild("--tables", "token_events_raw")
	require.ErrorContains(t, err, want)
}

// TestRebuildDropsNoUsageUnasked: the table keeps what keys have used for longer than the topic.
func TestRebuildDropsNoUsageUnasked(t *testing.T) {
	brokers := kafkatest.Start(t)
	r := newRebuildTest(t, brokers)
	rows := func() (count uint64) {
		r.query(&count, "SELECT count() FROM mintlake.key_usage_1m_raw")
		return count
	}
	now := time.Now().UTC().Truncate(time.Minute)
	add := func(minute time.Time) {
		r.exec(fmt.Sprintf("INSERT INTO mintlake.key_usage_1m_raw (minute, product, key) VALUES (%d, 'rpc', 'k')", minute.Unix()))
	}
	add(now)
	_, err := r.rebuild()
	require.ErrorContains(t, err, "key_usage_1m_raw has usage of keys from "+now.Format(time.DateTime)+" on, the log (gateway.usage.v1) has none")

	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	value, err := proto.Marshal(&eventspb.Usage{Minute: now.Unix()})
	require.NoError(t, err)
	require.NoError(t, producer.Produce(t.Context(), kafka.Record{Topic: schemas.TopicGatewayUsage, Key: []byte("k"), Value: value}))
	add(now.Add(-60 * 24 * time.Hour))
	_, err = r.rebuild()
	require.ErrorContains(t, err, "the log (gateway.usage.v1) from "+now.Format(time.DateTime)+" on")
	require.EqualValues(t, 2, rows())
	out, err := r.rebuild("--lose-history")
	require.NoError(t, err, out)
	require.Zero(t, rows())

	add(now.Add(-time.Minute)) // of another node, whose record came later
	out, err = r.rebuild()
	require.NoError(t, err, out)
}
