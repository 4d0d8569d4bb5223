package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// command runs a command of the binary and returns its output and exit code.
func command(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "MINTLAKE_LOG_LEVEL=warn")
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// TestBackupUnderLoad takes a backup of a node that ingests, restores it elsewhere, and compares:
// with the node it was taken of at one slot, and with tables that are made from the restored log
// alone.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	if kafkatest.Apache(t) {
		t.Skip("a backup is of the embedded engines")
	}
	dir, to, restored := t.TempDir(), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	up := launch(t, dir, "--source", "demo:?past=0&tps=200&tokens=200&seed=5")
	begin := time.Now()
	for up.number("(SELECT count() FROM mintlake.swaps WHERE usd_value > 0)") < 800 {
		require.Less(t, time.Since(begin), hang, up.log())
		time.Sleep(500 * time.Millisecond)
	}
	before := uint64(up.number("(SELECT max(slot) FROM mintlake.slots)"))

	out, code := command(t, "backup", "--data-dir", dir, "--to", to, "--clickhouse-dsn", up.addresses["clickhouse"])
	require.Zero(t, code, out)
	// Rows are stored in batches, so those of the time of the backup may come after it.
	require.Eventually(t, func() bool { return uint64(up.number("(SELECT max(slot) FROM mintlake.slots)")) > before }, hang, 100*time.Millisecond, "it was under load")
	require.Zero(t, up.stop())
	out, code = command(t, "backup", "--data-dir", dir, "--to", to)
	require.NotZero(t, code)
	require.Contains(t, out, "is not empty")

	out, code = command(t, "restore", "--from", to, "--data-dir", restored)
	require.Zero(t, code, out)

	// Nothing that was there when the backup began is missing. Twenty slots back, reads of accounts
	// are on the log too.
	at := strconv.FormatUint(before-20, 10)
	want, code := command(t, "root", "--data-dir", dir, "--at-slot", at)
	require.Zero(t, code, want)
	got, code := command(t, "root", "--data-dir", restored, "--at-slot", at)
	require.Zero(t, code, got)
	require.Contains(t, want, "root=")
	require.Equal(t, want, got)

	old := launch(t, dir, "--source", "none")
	old.awaitDone()
	back := launch(t, restored, "--source", "none")
	back.awaitDone()
	for table, columns := range map[string]string{
		"slots": "*", "token_events": "*", "routes": "*",
		"swaps": "* EXCEPT usd_value", // a leg's value may change while its minute is not over
	} {
		sql := "SELECT " + columns + " FROM mintlake." + table + " WHERE slot <= " + strconv.FormatUint(before, 10) + " ORDER BY ALL FORMAT TSV"
		rows := old.query(sql)
		require.True(t, table == "routes" || len(rows) > 0, table)
		require.Equal(t, rows, back.query(sql), table)
	}
	require.Zero(t, old.stop())

	// The tables came half from the backup and half from the log behind it. All from the log they
	// are the same.
	dump := back.dump()
	require.NotEmpty(t, dump["daily_volumes"])
	require.Zero(t, back.stop())
	out, code = command(t, "verify", "--data-dir", restored)
	require.Zero(t, code, out)
	require.NoError(t, os.RemoveAll(filepath.Join(restored, "clickhouse")))
	again := launch(t, restored, "--source", "none")
	again.awaitDone()
	requireEqualDumps(t, again.dump(), dump)
	require.Zero(t, again.stop())

	// A backup that changed on its disk is not restored.
	segment, err := filepath.Glob(filepath.Join(to, "kafka/broker/partitions/chain.token-events.v1-*/*.dat"))
	require.NoError(t, err)
	text, err := os.ReadFile(segment[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(segment[0], text, 0o600))
	out, code = command(t, "restore", "--from", to, "--data-dir", filepath.Join(t.TempDir(), "new"))
	require.NotZero(t, code)
	require.Contains(t, out, "is not what was written")
	require.Less(t, strings.Count(strings.TrimSpace(out), "\n"), 1, "one line: %s", out)
}

// TestBackupOfAStoppedNode needs no address, and with --log-only the tables are made anew. Then the
// log's folder goes, and the next start says so: TestTheCommandsOfOperations goes on from there.
func TestBackupOfAStoppedNode(t *testing.T) {
	t.Parallel()
	if kafkatest.Apache(t) {
		t.Skip("a backup is of the embedded engines")
	}
	dir := t.TempDir()
	up := launch(t, dir, "--source", "file:"+demoBlocks(t))
	up.awaitDone()
	want := up.dump()
	require.Zero(t, up.stop())
	for _, flags := range [][]string{{"--log-only"}, nil} {
		to, restored := filepath.Join(t.TempDir(), "backup"), t.TempDir()
		out, code := command(t, append([]string{"backup", "--data-dir", dir, "--to", to}, flags...)...)
		require.Zero(t, code, out)
		out, code = command(t, "restore", "--from", to, "--data-dir", restored)
		require.Zero(t, code, out)
		back := launch(t, restored, "--source", "none")
		back.awaitDone()
		requireEqualDumps(t, want, back.dump())
		require.Zero(t, back.stop())
	}

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "kafka")))
	lost := begin(t, dir, "--source", "none")
	select {
	case <-lost.exited:
	case <-lost.up:
		t.Fatal("it is up without its log")
	case <-time.After(hang):
		t.Fatal("it neither starts nor ends")
	}
	require.NotZero(t, lost.cmd.ProcessState.ExitCode())
	require.Contains(t, lost.log(), "the log is lost")
	require.Contains(t, lost.log(), "mintlake restore")
}
