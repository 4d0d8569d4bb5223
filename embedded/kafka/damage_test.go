package kafka_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/damage"
)

// place is where a record lies.
type place struct {
	topic     string
	partition int
	offset    int64
}

// folder is a data folder with a log whose records are known.
type folder struct {
	path    string
	records map[place]string
}

func (f *folder) copy(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data", "kafka")
	require.NoError(t, os.CopyFS(to, os.DirFS(f.path)))
	return to
}

// readLog reads a folder without a broker.
func readLog(t *testing.T, path string) map[place]string {
	t.Helper()
	log, err := embedded.OpenLog(path, nil, nil)
	require.NoError(t, err)
	defer log.Close()
	records := make(map[place]string)
	require.NoError(t, log.Read(t.Context(), []string{"truth", "keys", "expiring"}, func(r *segments.Record) {
		records[place{r.Topic, int(r.Partition), r.Offset}] = string(r.Key) + "=" + string(r.Value)
	}))
	return records
}

// logFolder writes a log of several segments and returns what a clean stop leaves, and what a kill
// would have left.
func logFolder(t *testing.T) (stopped, killed *folder) {
	t.Helper()
	dir := t.TempDir()
	broker, stop := serve(t, embedded.Config{DataDir: dir}.WithStateInterval(20*time.Millisecond), embedded.Deps{})
	ctx := testContext(t)
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	config := func(retention string) map[string]string {
		return map[string]string{"retention.ms": retention, "retention.bytes": "-1", "segment.bytes": "20000"}
	}
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{
		{Name: "truth", Partitions: 2, ReplicationFactor: 1, Config: config("-1")},
		{Name: "keys", Partitions: 1, ReplicationFactor: 1, Config: config("-1")},
		{Name: "expiring", Partitions: 1, ReplicationFactor: 1, Config: config("86400000")},
	}))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	for n := range 120 {
		var records []kafka.Record
		for i := range 1 + n%9 {
			value := fmt.Sprintf("%d-%d-%s", n, i, strings.Repeat("x", n))
			records = append(records, kafka.Record{Topic: "truth", Key: []byte(value[:3]), Value: []byte(value)},
				kafka.Record{Topic: "expiring", Value: []byte(value)})
		}
		records = append(records, kafka.Record{Topic: "keys", Key: []byte("k"), Value: fmt.Appendf(nil, "key %d", n)})
		require.NoError(t, producer.Produce(ctx, records...))
	}
	group, err := kafka.NewGroupConsumer(kafka.GroupConsumerConfig{Brokers: []string{broker.Addr()}, Group: "readers", Topics: []string{"truth"}, SessionTimeout: time.Second}, kafka.Deps{})
	require.NoError(t, err)
	defer group.Close()
	batch, err := group.FetchBatch(ctx, 100, time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, group.Commit(ctx, batch))
	require.Eventually(t, func() bool { return stateEnd(t, dir) == 120 }, time.Minute, 5*time.Millisecond)
	// A file that the broker replaces meanwhile may be gone before it is copied.
	require.Eventually(t, func() bool {
		killed = &folder{path: filepath.Join(t.TempDir(), "killed")}
		return os.CopyFS(killed.path, os.DirFS(dir)) == nil
	}, time.Minute, time.Millisecond)
	stop()
	stopped = &folder{path: dir}
	for _, f := range []*folder{stopped, killed} {
		f.records = readLog(t, f.path)
	}
	require.Equal(t, stopped.records, killed.records)
	require.Greater(t, len(stopped.records), 1000)
	return stopped, killed
}

// stateEnd is where the state has the end of the keys.
func stateEnd(t *testing.T, dir string) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, segments.StateFile))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(raw), `"topic":"keys"`)
	_, after, _ = strings.Cut(after, `"end":`)
	number, _, _ := strings.Cut(after, ",")
	end, _ := strconv.Atoi(number)
	return end
}

// TestRandomDamage: whatever is flipped, cut, made zero or deleted, no record is missing of which
// the broker does not say so; and a repair leaves every other record where it was.
func TestRandomDamage(t *testing.T) {
	stopped, killed := logFolder(t)
	acts := 40
	if testing.Short() { // with the race detector
		acts = 4
	}
	if text := os.Getenv("MINTLAKE_TEST_DAMAGES"); text != "" {
		var err error
		acts, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	outcomes := map[string]int{}
	for n := range acts {
		base := []*folder{stopped, killed}[n%2]
		path := base.copy(t)
		act, err := damage.Random(rng, path, func(name string) bool { return name != "LOCK" })
		require.NoError(t, err)
		require.NoError(t, act.Do(path))
		outcome := outcomeOf(t, base, path, act.String(), n%10 == 0)
		outcomes[outcome]++
		require.NoError(t, os.RemoveAll(path))
	}
	t.Log(outcomes)
}

// outcomeOf holds one damaged copy against the undamaged folder.
func outcomeOf(t *testing.T, base *folder, path, act string, live bool) string {
	t.Helper()
	report, err := embedded.CheckLog(path, nil)
	if err != nil {
		require.ErrorAs(t, err, new(*embedded.StartError), act)
		return "refused: not ours"
	}
	outcome := "harmless"
	var lost []segments.Damage
	if len(report.Damages) > 0 {
		outcome = "refused: " + string(report.Damages[0].Kind)
		before := hashes(t, path)
		err := startError(t, embedded.Config{DataDir: path})
		requireOneLine(t, err, embedded.ErrDamaged, "mintlake repair", report.Damages[0].String())
		require.Equal(t, before, hashes(t, path), "%s: a start that is refused changes nothing", act)
		_, err = embedded.OpenLog(path, nil, nil)
		require.ErrorIs(t, err, embedded.ErrDamaged)
		pending, err := embedded.RepairLog(path, nil, nil)
		require.NoError(t, err, act)
		lost = pending.Damages
		require.ErrorIs(t, startError(t, embedded.Config{DataDir: path}), embedded.ErrRepairPending)
		require.NoError(t, pending.Done(path))
	}
	if live {
		_, stop := serve(t, embedded.Config{DataDir: path}, embedded.Deps{})
		stop()
	}
	requireNoSilentLoss(t, base.records, readLog(t, path), lost, act)
	return outcome
}

func requireNoSilentLoss(t *testing.T, before, after map[place]string, damages []segments.Damage, act string) {
	t.Helper()
	for at, value := range before {
		got, there := after[at]
		if there {
			require.Equal(t, value, got, "%s: record at %v", act, at)
			continue
		}
		named := slices.ContainsFunc(damages, func(d segments.Damage) bool {
			return d.Topic == at.topic && d.Partition == at.partition && d.From <= at.offset && at.offset <= d.To
		})
		require.True(t, named, "%s: record at %v is gone and nobody says so; damages: %v", act, at, damages)
	}
	for at := range after {
		require.Contains(t, before, at, "%s: a record that was never written", act)
	}
}

// hashes are the files of the log.
func hashes(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "LOCK" {
			return err
		}
		raw, err := os.ReadFile(path)
		info, _ := entry.Info()
		all[path] = fmt.Sprint(info.ModTime(), string(raw))
		return err
	}))
	return all
}

// TestReadingWritesNothing: not even the lock file's time changes.
func TestReadingWritesNothing(t *testing.T) {
	stopped, _ := logFolder(t)
	before := hashes(t, stopped.path)
	readLog(t, stopped.path)
	require.Equal(t, before, hashes(t, stopped.path))
	broker, _ := serve(t, embedded.Config{DataDir: stopped.copy(t)}, embedded.Deps{})
	require.NotEmpty(t, broker.Addr())
}

// segmentFiles are a partition's segments, by offset.
func segmentFiles(t *testing.T, path, partition string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(path, "broker", "partitions", partition, "*.dat"))
	require.NoError(t, err)
	base := func(name string) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".dat"))
		return n
	}
	slices.SortFunc(names, func(a, b string) int { return base(a) - base(b) })
	return names
}

// TestReadersGoOnBehindARepair: a reader that had read everything before the damage misses nothing
// of what is written after the repair, though the damage was at the log's end.
func TestReadersGoOnBehindARepair(t *testing.T) {
	stopped, _ := logFolder(t)
	path := stopped.copy(t)
	files := segmentFiles(t, path, "keys-0")
	last := files[len(files)-1]
	info, err := os.Stat(last)
	require.NoError(t, err)
	require.NoError(t, damage.Act{Kind: damage.Zero, File: filepath.Base(last), Position: info.Size() - 12, Bytes: 8}.Do(filepath.Dir(last)))
	_, err = embedded.RepairLog(path, nil, nil)
	require.NoError(t, err)
	pending, err := segments.ReadPending(path)
	require.NoError(t, err)
	require.NoError(t, pending.Done(path))

	broker, _ := serve(t, embedded.Config{DataDir: path}, embedded.Deps{})
	ctx := testContext(t)
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer producer.Close()
	require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: "keys", Key: []byte("k"), Value: []byte("again")}))
	for _, start := range []int64{120, 119, 110, 0} {
		tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: []string{broker.Addr()}, Topics: []string{"keys"},
			Start: map[kafka.TopicPartition]int64{{Topic: "keys"}: start}}, kafka.Deps{})
		require.NoError(t, err)
		seen := map[int64]string{}
		for !slices.Contains(slices.Collect(maps.Values(seen)), "again") {
			batch, err := tailer.FetchBatch(ctx, 1000, 0)
			require.NoError(t, err)
			for _, r := range batch {
				seen[r.Offset] = string(r.Value)
			}
		}
		tailer.Close()
		require.Equal(t, "again", seen[120], "%v from %d: what is written behind the damage has an offset of its own", seen, start)
		if start == 0 {
			require.Len(t, seen, 121)
			require.Contains(t, seen[119], "lost: the records of keys partition 0 at offsets 119 to 119")
		}
	}
}

// TestTornEnd: what a kill leaves at the end of a log is dropped, and only that.
func TestTornEnd(t *testing.T) {
	_, killed := logFolder(t)
	files := segmentFiles(t, killed.path, "keys-0")
	last := files[len(files)-1]
	raw, err := os.ReadFile(last)
	require.NoError(t, err)
	next := make([]byte, 100)
	copy(next, raw[:100]) // a batch like the first
	next[7] = 120
	for name, tail := range map[string][]byte{"half a header": next[:20], "half a batch": next[:70], "zeros": make([]byte, 3000), "header and zeros": append(slices.Clone(next[:62]), make([]byte, 4096)...)} {
		t.Run(name, func(t *testing.T) {
			path := killed.copy(t)
			f, err := os.OpenFile(filepath.Join(path, "broker", "partitions", "keys-0", filepath.Base(last)), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.Write(tail)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			report, err := embedded.CheckLog(path, nil)
			require.NoError(t, err)
			require.Empty(t, report.Damages)
			require.Len(t, report.Notices, 1)
			require.Contains(t, report.Notices[0], "a crash cut off")
			_, stop := serve(t, embedded.Config{DataDir: path}, embedded.Deps{})
			stop()
			require.Equal(t, killed.records, readLog(t, path))
		})
	}
}

// TestDeletedTopic: a topic that is deleted under the running broker is missed at the next start,
// though it was made anew.
func TestDeletedTopic(t *testing.T) {
	for _, again := range []bool{false, true} {
		stopped, _ := logFolder(t)
		path := stopped.copy(t)
		broker, stop := serve(t, embedded.Config{DataDir: path}, embedded.Deps{})
		deleteTopic(t, broker.Addr(), "truth")
		if again {
			admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
			require.NoError(t, err)
			require.NoError(t, admin.EnsureTopics(testContext(t), []kafka.TopicSpec{{Name: "truth", Partitions: 2, ReplicationFactor: 1,
				Config: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}}}))
			admin.Close()
		}
		stop()
		requireOneLine(t, startError(t, embedded.Config{DataDir: path}), embedded.ErrDamaged, "topic truth was deleted", "mintlake repair")
		pending, err := embedded.RepairLog(path, nil, nil)
		require.NoError(t, err)
		require.Len(t, pending.Damages, 2)
		require.NoError(t, pending.Done(path))
		_, stop = serve(t, embedded.Config{DataDir: path}, embedded.Deps{})
		stop()
		left := readLog(t, path)
		for at := range stopped.records {
			require.Equal(t, at.topic != "truth", left[at] != "", at)
		}
	}
}

func deleteTopic(t *testing.T, addr, topic string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	named := kmsg.NewDeleteTopicsRequestTopic()
	named.Topic = &topic
	req.Topics, req.TopicNames, req.TimeoutMillis = []kmsg.DeleteTopicsRequestTopic{named}, []string{topic}, 10_000
	resp, err := req.RequestWith(testContext(t), client)
	require.NoError(t, err)
	require.Zero(t, resp.Topics[0].ErrorCode)
}
