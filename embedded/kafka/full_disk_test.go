package kafka_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
)

// filler writes records of 5,000 bytes and remembers which were acknowledged.
type filler struct {
	t        *testing.T
	producer *kafka.Producer
	sent     int
	acked    map[string]bool
}

func (f *filler) put(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var records []kafka.Record
	for range 10 {
		value := make([]byte, 5000)
		copy(value, fmt.Sprintf("%d|", f.sent))
		f.sent++
		records = append(records, kafka.Record{Topic: "full", Value: value})
	}
	if err := f.producer.Produce(ctx, records...); err != nil {
		return err
	}
	for _, r := range records {
		f.acked[string(r.Value)] = true
	}
	return nil
}

// requireAcked reads the topic from its start.
func (f *filler) requireAcked(admin *kafka.Admin, addr string) {
	f.t.Helper()
	ctx := testContext(f.t)
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: []string{addr}, Topics: []string{"full"}}, kafka.Deps{})
	require.NoError(f.t, err)
	defer tailer.Close()
	ends, err := admin.EndOffsets(ctx, []string{"full"})
	require.NoError(f.t, err)
	there, next := map[string]bool{}, int64(0)
	for next < ends[kafka.TopicPartition{Topic: "full"}] {
		batch, err := tailer.FetchBatch(ctx, 1000, 0)
		require.NoError(f.t, err)
		for _, r := range batch {
			there[string(r.Value)] = true
			next = r.Offset + 1
		}
	}
	for value := range f.acked {
		require.True(f.t, there[value], "an acknowledged record is missing")
	}
}

// TestFullDisk: a full disk fails writes without an acknowledgement; once there is room again the
// same producer goes on, and neither then nor after a kill is an acknowledged record missing.
func TestFullDisk(t *testing.T) {
	root := os.Getenv("MINTLAKE_TEST_SMALL_DISK")
	if root == "" {
		t.Skip("set MINTLAKE_TEST_SMALL_DISK to an empty file system of about 6 MB, such as a tmpfs")
	}
	ctx := testContext(t)
	dir := filepath.Join(root, "kafka")
	require.NoError(t, os.RemoveAll(dir))
	broker, _ := serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	forever := map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "full", Partitions: 1, ReplicationFactor: 1, Config: forever}}))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	f := &filler{t: t, producer: producer, acked: make(map[string]bool)}
	ballast := filepath.Join(root, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 3<<20), 0o600))
	for err == nil {
		err = f.put(500 * time.Millisecond)
	}
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Error(t, f.put(300*time.Millisecond))
	require.NoError(t, os.Remove(ballast))
	for range 5 {
		require.NoError(t, f.put(time.Minute))
	}
	f.requireAcked(admin, broker.Addr())

	killed := filepath.Join(t.TempDir(), "killed")
	require.NoError(t, os.CopyFS(killed, os.DirFS(dir))) // what a kill would leave
	again, _ := serve(t, embedded.Config{DataDir: killed}, embedded.Deps{})
	admin, err = kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{again.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	f.requireAcked(admin, again.Addr())
}

// TestAFailedRollResetsNoReader: if the first write to a new segment fails, readers at the end of
// the partition wait there. They do not read it again from its first record.
func TestAFailedRollResetsNoReader(t *testing.T) {
	ctx, dir, registry := testContext(t), t.TempDir(), prometheus.NewRegistry()
	broker, stop := serve(t, embedded.Config{DataDir: dir}.WithStateInterval(time.Hour), embedded.Deps{})
	brokers := []string{broker.Addr()}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	config := map[string]string{"retention.ms": "-1", "retention.bytes": "-1", "segment.bytes": "20000"}
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "full", Partitions: 1, ReplicationFactor: 1, Config: config}}))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	f := &filler{t: t, producer: producer, acked: make(map[string]bool)}
	require.NoError(t, f.put(time.Minute))

	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: brokers, Topics: []string{"full"}}, kafka.Deps{Registerer: registry})
	require.NoError(t, err)
	defer tailer.Close()
	next := int64(0)
	read := func(until int64) {
		t.Helper()
		for next < until {
			records, err := tailer.FetchBatch(ctx, 1000, 0)
			require.NoError(t, err)
			for _, r := range records {
				require.Equal(t, next, r.Offset)
				next++
			}
		}
	}
	read(10)

	// Folders stand where the file of the next segment would be, so that it cannot be opened.
	partition := filepath.Join(dir, "broker", "partitions", "full-0")
	for base := 10; base < 100; base += 10 {
		require.NoError(t, os.Mkdir(filepath.Join(partition, fmt.Sprintf("%d.dat", base)), 0o700))
	}
	require.Error(t, f.put(2*time.Second))
	require.Zero(t, counter(t, registry, "mintlake_kafka_offset_resets_total"))
	for base := 10; base < 100; base += 10 {
		require.NoError(t, os.Remove(filepath.Join(partition, fmt.Sprintf("%d.dat", base))))
	}
	require.NoError(t, f.put(time.Minute))
	read(20)
	require.Zero(t, counter(t, registry, "mintlake_kafka_offset_resets_total"))
	f.requireAcked(admin, broker.Addr())
	stop()
	serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
}
