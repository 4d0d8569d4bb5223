package kafka_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/kafka"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// serve runs a broker and returns it once it serves, and how to stop it.
func serve(t *testing.T, cfg embedded.Config, deps embedded.Deps) (*embedded.Broker, func()) {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	broker, err := embedded.New(cfg, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- broker.Run(ctx) }()
	require.NoError(t, broker.WaitReady(testContext(t)))
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-done)
	}
	t.Cleanup(stop)
	return broker, stop
}

// startError runs a broker that cannot start.
func startError(t *testing.T, cfg embedded.Config) error {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	broker, err := embedded.New(cfg, embedded.Deps{})
	if err != nil {
		return err
	}
	ctx := testContext(t)
	err = broker.Run(ctx)
	require.Error(t, err)
	require.Equal(t, err, broker.WaitReady(ctx), "who waits hears the same")
	return err
}

// requireOneLine checks that an operator can act on err.
func requireOneLine(t *testing.T, err error, reason error, words ...string) {
	t.Helper()
	require.ErrorIs(t, err, reason)
	var start *embedded.StartError
	require.ErrorAs(t, err, &start)
	require.NotEmpty(t, start.Do)
	require.NotContains(t, err.Error(), "\n")
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}

func TestRefusesAddressesThatOthersCanReach(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:9092", "[::]:0", "example.com:9092"} {
		_, err := embedded.New(embedded.Config{DataDir: t.TempDir(), Addr: addr}, embedded.Deps{})
		requireOneLine(t, err, embedded.ErrNotLoopback, addr)
	}
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		_, err := embedded.New(embedded.Config{DataDir: t.TempDir(), Addr: addr}, embedded.Deps{})
		require.NoError(t, err, addr)
	}
}

func TestRefusesALockedFolder(t *testing.T) {
	dir := t.TempDir()
	_, stop := serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
	requireOneLine(t, startError(t, embedded.Config{DataDir: dir}), embedded.ErrLocked, dir, "process ")
	stop()
	serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
}

func TestRefusesAForeignFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600))
	requireOneLine(t, startError(t, embedded.Config{DataDir: dir}), embedded.ErrForeign, dir, "thesis.tex")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing was written to it")
}

func TestRefusesAFolderOfAnotherFormat(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "MINTLAKE_KAFKA"), []byte("mintlake embedded kafka, format 9\n"), 0o600))
	requireOneLine(t, startError(t, embedded.Config{DataDir: dir}), embedded.ErrFormat, "format 9", "damaged")
}

// TestAMarkerThatIsGoneIsNamed: a folder of ours without it is told from one of somebody else, and
// with the line that the message gives it starts.
func TestAMarkerThatIsGoneIsNamed(t *testing.T) {
	dir := t.TempDir()
	_, stop := serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
	stop()
	marker := filepath.Join(dir, "MINTLAKE_KAFKA")
	require.NoError(t, os.Remove(marker))
	err := startError(t, embedded.Config{DataDir: dir})
	requireOneLine(t, err, embedded.ErrForeign, "MINTLAKE_KAFKA is missing")
	_, line, found := strings.Cut(err.Error(), "the line: ")
	require.True(t, found)
	require.NoError(t, os.WriteFile(marker, []byte(line+"\n"), 0o600))
	serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
}

func TestRefusesATakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	dir := t.TempDir()
	requireOneLine(t, startError(t, embedded.Config{DataDir: dir, Addr: listener.Addr().String()}), embedded.ErrAddrInUse, listener.Addr().String())
	serve(t, embedded.Config{DataDir: dir}, embedded.Deps{}) // the folder was given back
}

func TestStartsInAFolderThatAKillLeftBehind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"LOCK", "LOCK.123", "MINTLAKE_KAFKA.new"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
}

// TestHostileRequests: each of these drops its own connection, is counted, and leaves the broker
// serving.
func TestHostileRequests(t *testing.T) {
	registry := prometheus.NewRegistry()
	broker, _ := serve(t, embedded.Config{DataDir: t.TempDir()}, embedded.Deps{Registerer: registry})
	for name, bytes := range map[string][]byte{
		"unknown api key of two megabytes": {0, 0x20, 0, 10, 0x0f, 0xa0, 0, 0, 0, 0, 0, 1, 0, 0},
		"produce that is none":             {0, 0, 0, 10, 0, 0, 0, 8, 0, 0, 0, 1, 0, 9},
		"four gigabytes":                   {0xff, 0xff, 0xff, 0xff, 0, 3, 0, 0},
		"too short":                        {0, 0, 0, 1, 0, 3, 0, 0},
		"unknown version":                  {0, 0, 0, 10, 0, 3, 0x7f, 0, 0, 0, 0, 1, 0, 0},
		"another protocol":                 []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		conn, err := net.Dial("tcp", broker.Addr())
		require.NoError(t, err)
		_, err = conn.Write(bytes)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
		_, err = conn.Read(make([]byte, 1))
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, name)
		require.Error(t, err, name)
		require.NoError(t, conn.Close())
	}
	require.Equal(t, 6.0, counter(t, registry, "mintlake_embedded_kafka_rejected_connections_total"))
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	require.NoError(t, admin.Ping(testContext(t)))
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

// TestTopicsAreNotMadeByAccident asks for a topic's metadata with the permission to create it.
func TestTopicsAreNotMadeByAccident(t *testing.T) {
	dir := t.TempDir()
	broker, _ := serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
	conn, err := net.Dial("tcp", broker.Addr())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	// Metadata v4: header, array of one name, allow_auto_topic_creation.
	body := binary.BigEndian.AppendUint32(nil, 1)
	body = append(binary.BigEndian.AppendUint16(body, 8), "accident"...)
	body = append(body, 1)
	request := []byte{0, 3, 0, 4, 0, 0, 0, 1, 0xff, 0xff}
	request = append(request, body...)
	_, err = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...))
	require.NoError(t, err)
	size := make([]byte, 4)
	_, err = io.ReadFull(conn, size)
	require.NoError(t, err)
	answer := make([]byte, binary.BigEndian.Uint32(size))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	require.Contains(t, string(answer), "accident")
	found := false
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		found = found || strings.Contains(path, "accident")
		return err
	}))
	require.False(t, found)
}

// TestRetentionIsEnforcedAfterARestart: expired records go, also when no topic was made or altered
// since the start.
func TestRetentionIsEnforcedAfterARestart(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	config := map[string]string{"retention.ms": "500", "retention.bytes": "-1"}
	broker, stop := serve(t, embedded.Config{DataDir: dir}.WithRetentionInterval(time.Hour), embedded.Deps{})
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{
		{Name: "short", Partitions: 1, ReplicationFactor: 1, Config: config},
		{Name: "long", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}},
	}))
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: "short", Value: []byte("x")}, kafka.Record{Topic: "long", Value: []byte("x")}))
	}
	producer.Close()
	admin.Close()
	stop()
	time.Sleep(600 * time.Millisecond)

	broker, _ = serve(t, embedded.Config{DataDir: dir}.WithRetentionInterval(50*time.Millisecond), embedded.Deps{})
	admin, err = kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
	require.NoError(t, err)
	defer admin.Close()
	require.Eventually(t, func() bool {
		starts, err := admin.StartOffsets(ctx, []string{"short", "long"})
		return err == nil && starts[kafka.TopicPartition{Topic: "short"}] == 3 && starts[kafka.TopicPartition{Topic: "long"}] == 0
	}, 2*time.Minute, 50*time.Millisecond)
}

// TestAnExpiredPartitionKeepsItsEnd: new records go on behind the expired ones, after any number of
// starts and in a copy. Otherwise groups would skip them up to the offsets that they committed.
func TestAnExpiredPartitionKeepsItsEnd(t *testing.T) {
	ctx, dir, short := testContext(t), t.TempDir(), kafka.TopicPartition{Topic: "short"}
	// run starts a broker, whose first round deletes what has expired, and adds a record to it.
	run := func(path string, start, end int64, written time.Time) {
		t.Helper()
		broker, stop := serve(t, embedded.Config{DataDir: path}.WithRetentionInterval(time.Hour), embedded.Deps{})
		admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
		require.NoError(t, err)
		defer admin.Close()
		require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{
			{Name: short.Topic, Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "3600000", "retention.bytes": "-1"}},
		}))
		ends, err := admin.EndOffsets(ctx, []string{short.Topic})
		require.NoError(t, err)
		require.Equal(t, end, ends[short])
		require.Eventually(t, func() bool {
			starts, err := admin.StartOffsets(ctx, []string{short.Topic})
			return err == nil && starts[short] == start
		}, time.Minute, 10*time.Millisecond)
		producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
		require.NoError(t, err)
		defer producer.Close()
		value := written.String()
		require.NoError(t, producer.Produce(ctx, kafka.Record{Topic: short.Topic, Value: []byte(value), Time: written}))
		tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: []string{broker.Addr()}, Topics: []string{short.Topic}, Start: map[kafka.TopicPartition]int64{short: end}}, kafka.Deps{})
		require.NoError(t, err)
		defer tailer.Close()
		records, err := tailer.FetchBatch(ctx, 1, 0)
		require.NoError(t, err)
		require.Equal(t, end, records[0].Offset)
		require.Equal(t, value, string(records[0].Value))
		stop()
	}
	now := time.Now()
	old := now.Add(-2 * time.Hour)
	run(dir, 0, 0, old)
	// The first start finds that the record has expired, and the second one that there is none.
	_, stop := serve(t, embedded.Config{DataDir: dir}, embedded.Deps{})
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "broker/partitions/short-0/*.dat"))
		return err == nil && len(files) == 0
	}, time.Minute, 10*time.Millisecond)
	stop()
	backup := t.TempDir()
	require.NoError(t, embedded.CopyLog(ctx, dir, backup, "", nil))
	killed := t.TempDir()
	require.NoError(t, os.CopyFS(killed, os.DirFS(dir)))
	for _, path := range []string{dir, backup} {
		run(path, 1, 1, old)
		run(path, 2, 2, now)
		run(path, 2, 3, now)
	}
	// A kill comes before the new start has noted anything.
	report, err := segments.Check(killed, nil)
	require.NoError(t, err)
	require.NoError(t, report.Prepare(killed))
	run(killed, 1, 1, now)
	run(killed, 1, 2, now)
}

// TestEachLogHasAnIDOfItsOwn: it stays over restarts and in a copy, so that what was noted of one
// log is not taken for another.
func TestEachLogHasAnIDOfItsOwn(t *testing.T) {
	ctx := testContext(t)
	id := func(path string) string {
		broker, stop := serve(t, embedded.Config{DataDir: path}, embedded.Deps{})
		defer stop()
		admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{broker.Addr()}}, kafka.Deps{})
		require.NoError(t, err)
		defer admin.Close()
		require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 1, Config: map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}}}))
		id, err := admin.ClusterID(ctx)
		require.NoError(t, err)
		require.NotEmpty(t, id)
		return id
	}
	one, other, copied := t.TempDir(), t.TempDir(), t.TempDir()
	first := id(one)
	require.Equal(t, first, id(one))
	require.NotEqual(t, first, id(other))
	require.NoError(t, embedded.CopyLog(ctx, one, copied, "", nil))
	require.Equal(t, first, id(copied))

	// A folder of an earlier version, which gave all the same id.
	meta := filepath.Join(one, "broker", "meta.json")
	raw, err := os.ReadFile(meta)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(meta, bytes.Replace(raw, []byte(first), []byte("mintlake-embedded"), 1), 0o600))
	own := id(one)
	require.NotContains(t, []string{first, "mintlake-embedded"}, own)
	require.Equal(t, own, id(one))
}
