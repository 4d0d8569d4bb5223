package replica_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// corpus is a snapshot of so many tokens.
type corpus int

func (c corpus) Load(_ context.Context, _ []pubkey.Key, each func(mint pubkey.Key, facts []registry.Fact)) error {
	tokens := registrytest.NewCorpus(1, nil)
	var loading sync.WaitGroup
	shares := runtime.GOMAXPROCS(0)
	for share := range shares {
		loading.Go(func() {
			var facts []registry.Fact
			for i := share; i < int(c); i += shares {
				token := tokens.Token(i)
				facts = tokens.AppendFacts(facts[:0], &token)
				each(token.Mint, facts)
			}
		})
	}
	loading.Wait()
	return nil
}

// BenchmarkCheckpoint writes a checkpoint of MINTLAKE_BENCH_TOKENS tokens (100,000 without it) and
// starts from it. Without ClickHouse, the first start is as fast as the made-up tokens are made.
func BenchmarkCheckpoint(b *testing.B) {
	tokens := testkit.BenchTokens(b, 100_000)
	defer debug.SetGCPercent(debug.SetGCPercent(15)) // as an API node's, see cmd/mintlake/heap.go
	log, folder := apitest.NewLog(), b.TempDir()
	log.Token(1, 10, "ONE", "The One", time.Now())
	log.CommitAll(schemas.GroupProjector, schemas.TopicTokenEvents)
	for b.Loop() {
		first := startKept(b, log, corpus(tokens), folder)
		first.await()
		b.ReportMetric(first.live(), "B/token")
		begin := time.Now()
		size, err := first.WriteCheckpoint(b.Context())
		require.NoError(b, err)
		b.ReportMetric(time.Since(begin).Seconds(), "s-to-write")
		b.ReportMetric(float64(size)/float64(tokens), "B/token-on-disk")
		first.stop()
		runtime.GC()

		begin, spent := time.Now(), processorTime(b)
		again := startKept(b, log, corpus(tokens), folder)
		again.await()
		b.ReportMetric(time.Since(begin).Seconds(), "s-to-load")
		b.ReportMetric((processorTime(b) - spent).Seconds(), "cpu-s-to-load")
		require.True(b, again.Checkpoint().Loaded, again.Checkpoint().Refused)
		b.ReportMetric(again.live(), "B/token-loaded")
		again.stop()
	}
}

// await waits until the node is ready, however long that takes.
func (n *kept) await() {
	for !n.Ready() {
		time.Sleep(10 * time.Millisecond)
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var used unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// live returns how many bytes of the heap are in use for each token.
func (n *kept) live() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / float64(n.Tokens())
}
