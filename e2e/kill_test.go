package e2e

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// dump is every row that users can see, in a fixed order.
func (i *instance) dump() map[string][]string {
	i.t.Helper()
	tables := i.dumpSwaps()
	maps.Copy(tables, i.dumpBalances())
	tables["root"] = []string{i.awaitRoot()}
	tables["token_events"] = i.query("SELECT * FROM mintlake.token_events ORDER BY position, mint, kind FORMAT TSV")
	tables["tokens"] = i.query("SELECT * FROM mintlake.tokens ORDER BY mint FORMAT TSV")
	tables["slots"] = i.query("SELECT * FROM mintlake.slots ORDER BY slot, blockhash FORMAT TSV")
	return tables
}

// TestKillsChangeNothing kills `up` at ten random moments of its ingestion, forty in make
// test-rounds, and compares with an undisturbed run, row for row.
func TestKillsChangeNothing(t *testing.T) {
	t.Parallel()
	sources := append(sharedSources(t), "--source", "file:"+demoBlocks(t), "--balances-mode", "all")

	whole := launch(t, t.TempDir(), append(sources, kafkaFlags(t)...)...)
	started := time.Now()
	whole.awaitDone()
	took := time.Since(started)
	want := whole.dump()
	require.NotEmpty(t, want["token_events"])
	require.NotEmpty(t, want["daily_volumes"])
	require.NotEmpty(t, want["wallet_transfers"])
	require.Zero(t, whole.stop())

	dir, flags := t.TempDir(), kafkaFlags(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	inFlight, lives, kills := 0, 0, testkit.Rounds(10, 40)
	for n := range kills {
		up := begin(t, dir, append(sources, flags...)...)
		if n%3 == 0 { // at any moment of the start too
			time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		} else {
			up.awaitUp()
			// The first lives are short, so that some end in the middle also where the machine is
			// far quicker now than it was for the undisturbed run.
			lives++
			time.Sleep(time.Duration(random.Int64N(int64(took/8)*int64(lives)/int64(2*kills/3) + 1)))
			if s := up.status(); !s.Source.Done || s.Pipeline.LagRecords == nil || *s.Pipeline.LagRecords > 0 {
				inFlight++
			}
		}
		require.False(t, exited(up), "it must be killed, not end by itself:\n%s", up.log())
		up.kill()
	}
	require.GreaterOrEqual(t, inFlight, testkit.Rounds(2, 6), "kills must hit ingestion, not what comes after it")
	last := launch(t, dir, append(sources, flags...)...)
	last.awaitDone()
	requireEqualDumps(t, want, last.dump())
	require.Zero(t, last.stop())
}

// TestClickHouseIsKilledWhileItsTablesAreMade: its process comes again, and the start goes on.
func TestClickHouseIsKilledWhileItsTablesAreMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := begin(t, dir, "--source", "none")
	until(t, func() bool {
		tables, err := filepath.Glob(filepath.Join(dir, "clickhouse/engine/metadata/mintlake/*.sql"))
		return err == nil && len(tables) > 0
	}, time.Millisecond)
	for _, child := range children(t, up.cmd.Process.Pid) {
		require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
	}
	up.awaitUp()
	require.Contains(t, up.log(), "the tables cannot be prepared, this will be tried again")
	require.Zero(t, up.stop())
}

// requireEqualDumps compares row by row and shows the first difference of each table only.
func requireEqualDumps(t testing.TB, want, got map[string][]string) {
	t.Helper()
	for table, rows := range want {
		for n := range min(len(rows), len(got[table])) {
			if !assert.Equal(t, rows[n], got[table][n], "%s, row %d", table, n) {
				break
			}
		}
		assert.Equal(t, len(rows), len(got[table]), "rows of %s", table)
	}
}

func exited(i *instance) bool {
	select {
	case <-i.exited:
		return true
	default:
		return false
	}
}
