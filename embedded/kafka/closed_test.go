package kafka_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/kafka"
)

// closedFolder returns a folder with closed segments that the state describes, and its records.
func closedFolder(t *testing.T) *folder {
	t.Helper()
	stopped, _ := logFolder(t)
	report, err := segments.CheckOpen(stopped.path, nil)
	require.NoError(t, err)
	whole, err := segments.Check(stopped.path, nil)
	require.NoError(t, err)
	require.Zero(t, whole.Unread())
	require.Equal(t, whole.Bytes, report.Bytes+report.Unread())
	require.Greater(t, 2*report.Unread(), report.Bytes, "much of the log is closed segments")
	return stopped
}

// TestAStartDoesNotReadClosedSegments: after a stop and after a kill, and readers find every record
// at any offset nevertheless.
func TestAStartDoesNotReadClosedSegments(t *testing.T) {
	f := closedFolder(t)
	ctx := testContext(t)
	for range 2 { // the second start follows one that read nothing
		broker, stop := serve(t, embedded.Config{DataDir: f.path}, embedded.Deps{})
		for _, partition := range []kafka.TopicPartition{{Topic: "truth"}, {Topic: "truth", Partition: 1}, {Topic: "keys"}, {Topic: "expiring"}} {
			for _, from := range []int64{0, 1, 57, 119, 31} {
				requireRecords(t, broker.Addr(), f, partition, from)
			}
		}
		admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
		require.NoError(t, err)
		ends, err := admin.EndOffsets(ctx, []string{"keys"})
		require.NoError(t, err)
		require.EqualValues(t, 120, ends[kafka.TopicPartition{Topic: "keys"}])
		admin.Close()
		stop()
		report, err := segments.CheckOpen(f.path, nil)
		require.NoError(t, err)
		require.Greater(t, 2*report.Unread(), report.Bytes)
	}
}

// requireRecords reads a partition from an offset on, and compares the records.
func requireRecords(t *testing.T, addr string, f *folder, partition kafka.TopicPartition, from int64) {
	t.Helper()
	ctx := testContext(t)
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: []string{addr}, Topics: []string{partition.Topic},
		Start: map[kafka.TopicPartition]int64{partition: from}}, kafka.Deps{})
	require.NoError(t, err)
	defer tailer.Close()
	want := 0
	for at := range f.records {
		if at.topic == partition.Topic && at.partition == partition.Partition && at.offset >= from {
			want++
		}
	}
	for got := 0; got < want; {
		records, err := tailer.FetchBatch(ctx, 1000, time.Millisecond)
		require.NoError(t, err)
		for _, r := range records {
			if r.Partition != partition.Partition {
				continue
			}
			require.Equal(t, from+int64(got), r.Offset)
			require.Equal(t, f.records[place{r.Topic, r.Partition, r.Offset}], string(r.Key)+"="+string(r.Value))
			got++
		}
	}
}

// TestWrittenClosedSegmentsAreRead: whoever writes to a closed segment changes its time, so the
// start finds the damage as it does in any other.
func TestWrittenClosedSegmentsAreRead(t *testing.T) {
	f := closedFolder(t)
	name := segmentFiles(t, f.path, "truth-0")[1]
	flipBit(t, name)
	requireOneLine(t, startError(t, embedded.Config{DataDir: f.path}), embedded.ErrDamaged, filepath.Base(name))
	flipBit(t, name)
	serve(t, embedded.Config{DataDir: f.path}, embedded.Deps{})
}

// TestWhatADiskChangesIsFoundWhileTheBrokerServes: bytes that change without a write are found by
// the check behind the start. The broker ends, and the next start refuses at once.
func TestWhatADiskChangesIsFoundWhileTheBrokerServes(t *testing.T) {
	f := closedFolder(t)
	name := segmentFiles(t, f.path, "truth-0")[0]
	info, err := os.Stat(name)
	require.NoError(t, err)
	flipBit(t, name)
	require.NoError(t, os.Chtimes(name, time.Time{}, info.ModTime()))

	broker, err := embedded.New(embedded.Config{DataDir: f.path, Addr: "127.0.0.1:0"}, embedded.Deps{})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx) }()
	require.NoError(t, broker.WaitReady(ctx), "the start does not read the segment")
	requireOneLine(t, <-ended, embedded.ErrDamaged, filepath.Base(name))
	requireOneLine(t, startError(t, embedded.Config{DataDir: f.path}), embedded.ErrDamaged, filepath.Base(name))
	flipBit(t, name)
	serve(t, embedded.Config{DataDir: f.path}, embedded.Deps{})
}

// flipBit flips a bit in the middle of a file.
func flipBit(t *testing.T, name string) {
	t.Helper()
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	raw[len(raw)/2] ^= 1
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt(raw[len(raw)/2:len(raw)/2+1], int64(len(raw)/2))
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// TestRetentionOfClosedSegments: segments whose index is not in memory expire by age and by size,
// and what is left can be read, before a start and after it.
func TestRetentionOfClosedSegments(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	config := embedded.Config{DataDir: dir}.WithRetentionInterval(20 * time.Millisecond).WithStateInterval(20 * time.Millisecond)
	broker, stop := serve(t, config, embedded.Deps{})
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	aged, sized := kafka.TopicPartition{Topic: "aged"}, kafka.TopicPartition{Topic: "sized"}
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{
		{Name: "aged", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "3600000", "retention.bytes": "-1", "segment.bytes": "1000"}},
		{Name: "sized", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "-1", "retention.bytes": "6000", "segment.bytes": "1000"}},
	}))
	f := &folder{path: dir, records: map[place]string{}}
	write := func(from, to int, age time.Duration) {
		producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
		require.NoError(t, err)
		defer producer.Close()
		for n := from; n < to; n++ {
			value := fmt.Sprintf("%d %s", n, strings.Repeat("x", 100))
			for _, topic := range []string{"aged", "sized"} {
				require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: topic, Value: []byte(value), Time: time.Now().Add(-age)}))
				f.records[place{topic, 0, int64(n)}] = "=" + value
			}
		}
	}
	starts := func(want int64) int64 {
		t.Helper()
		var found map[kafka.TopicPartition]int64
		require.Eventually(t, func() bool {
			found, err = admin.StartOffsets(ctx, []string{"aged", "sized"})
			return err == nil && found[aged] == want && found[sized] > want/2
		}, time.Minute, 10*time.Millisecond, "%v", found)
		return found[sized]
	}
	write(0, 50, 0)
	starts(0)
	write(50, 55, 2*time.Hour)
	write(55, 120, 0)
	require.Less(t, starts(55), int64(100))
	requireRecords(t, broker.Addr(), f, aged, 60)
	requireRecords(t, broker.Addr(), f, sized, 100)
	require.Eventually(t, func() bool { return filepath.Base(segmentFiles(t, dir, "aged-0")[0]) != "0.dat" }, time.Minute, 10*time.Millisecond)
	admin.Close()
	stop()

	broker, _ = serve(t, config, embedded.Deps{})
	admin, err = kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	starts(55)
	requireRecords(t, broker.Addr(), f, aged, 60)
	requireRecords(t, broker.Addr(), f, sized, 100)
	write(120, 240, 0)
	require.Eventually(t, func() bool { return starts(55) > 180 }, time.Minute, 10*time.Millisecond)
	requireRecords(t, broker.Addr(), f, aged, 60)
}
