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
// take their share of the same cores. It prints legs a second from the start to the last leg stored
// (with every room: valued), how many times mainnet's 100 million a day that is, and the
// processor's time for a transaction, of ClickHouse too. A run that has not stored every
// transaction of the recording fails, and so does one that has not stored every change of a
// balance and every transfer.
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
	}{
		{"ingest-and-projector", []string{"--rooms", "ingest,projector"}},
		{"every-room", nil},
		{"every-room-with-balances", []string{"--balances-mode", "all"}},
	} {
		b.Run(run.name, func(b *testing.B) {
			for b.Loop() {
				up := launch(b, b.TempDir(), append(run.flags, "--source", "file:"+path)...)
				took := up.awaitStored(transactions)
				legs, err := strconv.Atoi(up.query("SELECT count() FROM mintlake.swaps")[0])
				require.NoError(b, err)
				require.NotZero(b, legs)
				up.requireBalancesStored()
				b.ReportMetric(float64(legs)/float64(transactions), "legs/tx")
				b.ReportMetric(float64(legs)/took.Seconds(), "stored-legs/s")
				b.ReportMetric(float64(transactions)/took.Seconds(), "tx/s")
				b.ReportMetric(float64(legs)/took.Seconds()/sourcetest.MainnetLegs, "x-mainnet")
				b.ReportMetric(0, "ns/op")
				require.Zero(b, up.stop(), up.log())
				used := up.cmd.ProcessState.UserTime() + up.cmd.ProcessState.SystemTime()
				b.ReportMetric(float64(used.Microseconds())/float64(transactions), "cpu-µs/tx")
			}
		})
	}
}

// requireBalancesStored compares the rows of balances with what ingest made of the blocks: nothing
// where they are off.
func (i *instance) requireBalancesStored() {
	i.t.Helper()
	for table, made := range map[string]string{"balance_changes": "mintlake_ingest_balance_changes_total", "transfers": "mintlake_ingest_transfers_total"} {
		require.Equal(i.t, strconv.FormatFloat(i.metric(made), 'f', -1, 64), i.query("SELECT count() FROM mintlake." + table)[0], table)
	}
}

// awaitStored waits until the slots of so many transactions are stored, and copies of legs, changes
// of balances and transfers come no more. It returns how long the last copy took.
func (i *instance) awaitStored(transactions int) (took time.Duration) {
	i.t.Helper()
	begin, last, state := time.Now(), time.Now(), ""
	all := strconv.Itoa(transactions) + "\t"
	for !strings.HasPrefix(state, all) || time.Since(last) < 10*time.Second {
		require.Less(i.t, time.Since(last), hang, i.log())
		now := i.query("SELECT (SELECT sum(transactions) FROM mintlake.slots), (SELECT count() FROM mintlake.swaps_raw), " +
			"(SELECT count() FROM mintlake.balance_changes_raw), (SELECT count() FROM mintlake.wallet_transfers_raw)")[0]
		if now != state {
			state, last = now, time.Now()
		}
		time.Sleep(500 * time.Millisecond) // a look takes some milliseconds of both processors
	}
	return last.Sub(begin)
}
