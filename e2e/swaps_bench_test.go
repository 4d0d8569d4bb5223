package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// BenchmarkSwapsFromBlocks is `mintlake up` at work on a recording as dense with swaps as mainnet
// is, with embedded engines: blocks are decompressed, parsed and decoded, their events and legs go
// to Kafka, and from there into ClickHouse; with every room, enrichment, search, prices and volumes
// take their share of the same cores. It prints legs a second from the first block to the last leg
// stored (with every room: valued), and how many times mainnet's 100 million a day that is.
func BenchmarkSwapsFromBlocks(b *testing.B) {
	path := filepath.Join(b.TempDir(), "dense.geyser.zst")
	f, err := os.Create(path)
	require.NoError(b, err)
	defer f.Close()
	recording, err := file.NewRecorder(f)
	require.NoError(b, err)
	_, transactions := sourcetest.LongChain(b, sourcetest.DenseBlocks(b), 400_000, recording.Write)
	require.NoError(b, recording.Close())
	for _, run := range []struct {
		name  string
		flags []string
	}{{"ingest-and-projector", []string{"--rooms", "ingest,projector"}}, {"every-room", nil}} {
		b.Run(run.name, func(b *testing.B) {
			for b.Loop() {
				up := launch(b, b.TempDir(), append(run.flags, "--source", "file:"+path)...)
				took := up.awaitStored()
				legs, err := strconv.Atoi(up.query("SELECT count() FROM mintlake.swaps")[0])
				require.NoError(b, err)
				require.NotZero(b, legs)
				b.ReportMetric(float64(legs)/float64(transactions), "legs/tx")
				b.ReportMetric(float64(legs)/took.Seconds(), "stored-legs/s")
				b.ReportMetric(float64(transactions)/took.Seconds(), "tx/s")
				b.ReportMetric(float64(legs)/took.Seconds()/sourcetest.MainnetLegs, "x-mainnet")
				b.ReportMetric(0, "ns/op")
				require.Zero(b, up.stop(), up.log())
			}
		})
	}
}

// awaitStored returns how long it takes until copies of legs come no more.
func (i *instance) awaitStored() (took time.Duration) {
	i.t.Helper()
	begin, last, rows := time.Now(), time.Now(), ""
	for rows == "0" || rows == "" || time.Since(last) < 10*time.Second {
		require.Less(i.t, time.Since(begin), 2*hang, i.log())
		if now := strings.Join(i.query("SELECT count() FROM mintlake.swaps_raw"), ""); now != rows {
			rows, last = now, time.Now()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return last.Sub(begin)
}
