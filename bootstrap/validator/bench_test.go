package validator_test

import (
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/testworld/bulk"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

var benchAccounts = flag.Int("accounts", 1_000_000, "accounts of the snapshot in BenchmarkSnapshot")

// counter counts records.
type counter struct{ records atomic.Int64 }

func (c *counter) Produce(_ context.Context, records ...kafka.Record) error {
	c.records.Add(int64(len(records)))
	return nil
}

// BenchmarkSnapshot reads a made-up snapshot with and without hashes, and beside it lists the same
// file with zstd and tar. A part in fourteen of its accounts are mints and metadata.
func BenchmarkSnapshot(b *testing.B) {
	const perMint = 25 // as mainnet-beta has it, about
	w := &world{World: snapshotfile.World{Chain: bulk.NewChain(*benchAccounts/perMint, 400_000_123), Others: *benchAccounts * 23 / perMint}, slot: 400_000_123}
	w.PerStorage = 20_000
	path := write(b, w.full(snapshotfile.Agave4), "zst")
	unpacked := unpackedSize(b, path)
	for name, command := range map[string]string{"zstd|tar": `zstd -q -d -c "$1" | tar -t >"$2"`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, exec.Command("sh", "-c", command, "sh", path, filepath.Join(b.TempDir(), "list")).Run())
			}
			b.ReportMetric(float64(unpacked)/1e6/(b.Elapsed().Seconds()/float64(b.N)), "MB/s")
		})
	}
	for name, skip := range map[string]bool{"skip-hash": true, "hash": false} {
		b.Run(name, func(b *testing.B) {
			var summary validator.Summary
			highest := uint64(0)
			for b.Loop() {
				loader, err := validator.New(validator.Config{Full: path, Folder: b.TempDir(), SkipHash: skip}, validator.Deps{Producer: new(counter)})
				require.NoError(b, err)
				stop := watchHeap(&highest)
				summary, err = loader.Run(b.Context())
				stop()
				require.NoError(b, err)
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(unpacked)/1e6/seconds, "MB/s")
			b.ReportMetric(float64(summary.Versions)/seconds, "accounts/s")
			b.ReportMetric(float64(highest)/1e6, "heap-MB")
		})
	}
}

func unpackedSize(b *testing.B, path string) (n int64) {
	out, err := exec.Command("sh", "-c", `zstd -q -d -c "$1" | wc -c`, "sh", path).Output()
	require.NoError(b, err)
	for _, digit := range out {
		if digit >= '0' && digit <= '9' {
			n = n*10 + int64(digit-'0')
		}
	}
	return n
}

// watchHeap keeps the highest heap that it sees.
func watchHeap(highest *uint64) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			*highest = max(*highest, stats.HeapSys)
			select {
			case <-ended:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}
