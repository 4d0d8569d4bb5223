package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// longRecording writes a recording of at least so many transactions: the recorded mainnet blocks
// without their votes, over and over.
func longRecording(t testing.TB, path string, atLeast int) (blocks, transactions int) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	out, err := file.NewRecorder(f)
	require.NoError(t, err)
	blocks, transactions = sourcetest.LongChain(t, sourcetest.WithoutVotes(t), atLeast, out.Write)
	require.NoError(t, out.Close())
	return blocks, transactions
}

// BenchmarkIngestRecording: a recording of over 500,000 transactions from disk to Kafka, on two
// cores that the broker, which syncs to disk, shares: decompressed, parsed, decoded, produced,
// acknowledged, slot records written. x-mainnet is how many times mainnet's rate that is.
func BenchmarkIngestRecording(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	path := filepath.Join(b.TempDir(), "long.geyser.zst")
	blocks, transactions := longRecording(b, path, 500_000)
	info, err := os.Stat(path)
	require.NoError(b, err)
	var best float64
	var memory runtime.MemStats
	for b.Loop() {
		b.StopTimer()
		_, producer := startBroker(b.Context(), b)
		runtime.GC()
		b.StartTimer()
		rate := ingestRecording(b, path, producer, blocks, transactions)
		best = max(best, rate)
	}
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(transactions), "tx")
	b.ReportMetric(float64(info.Size())/1e6, "MB-on-disk")
	b.ReportMetric(float64(memory.HeapSys)/1e6, "MB-heap")
	b.ReportMetric(best, "non-vote-tx/s")
	b.ReportMetric(best/sourcetest.MainnetRate, "x-mainnet")
}

// ingestRecording returns transactions per second.
func ingestRecording(t testing.TB, path string, producer kafka.RecordProducer, blocks, transactions int) float64 {
	t.Helper()
	files, err := file.New(file.Config{Paths: []string{path}}, file.Deps{})
	require.NoError(t, err)
	r, err := runner.New(runner.Config{Sources: []source.Source{files}}, runner.Deps{Producer: producer})
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, r.Run(context.Background()))
	took := time.Since(began)
	p := r.Progress()
	require.True(t, p.Done)
	require.EqualValues(t, blocks, p.Blocks)
	require.EqualValues(t, transactions, p.Transactions)
	require.NotZero(t, p.Events)
	require.Zero(t, p.Refused)
	require.Empty(t, r.Coverage().Gaps)
	return float64(transactions) / took.Seconds()
}

// TestLongRecording is the benchmark's way in small: five blocks, two of them once more under other
// slots.
func TestLongRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.geyser.zst")
	blocks, transactions := longRecording(t, path, 2_500)
	l := &log{}
	ingestRecording(t, path, l, blocks, transactions)
	require.Len(t, l.slots(t), blocks)
}
