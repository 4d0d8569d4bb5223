package chengine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse"
)

// TestStuckInsertCostsTheChild: an insert that hangs inside the engine, where no KILL QUERY reaches
// it, ends with its client's deadline and its process, and the same insert goes through afterwards.
// The view of the table opens a pipe that nobody writes to: that is such a place.
func TestStuckInsertCostsTheChild(t *testing.T) {
	r := start(t, chengine.Config{LetGo: time.Second})
	conn, err := clickhouse.Open(t.Context(), r.DSN())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, os.WriteFile(gate, []byte("open\n"), 0o600))
	for _, statement := range []string{
		"CREATE TABLE rows (n UInt64) ENGINE = ReplacingMergeTree ORDER BY n",
		"CREATE TABLE copies (n UInt64) ENGINE = MergeTree ORDER BY n",
		fmt.Sprintf("CREATE MATERIALIZED VIEW through TO copies AS SELECT n FROM rows WHERE n IN (SELECT n FROM rows) OR "+
			"(SELECT count() FROM file('%s', 'LineAsString', 'line String')) > 0", gate),
	} {
		require.NoError(t, conn.Exec(t.Context(), statement), statement)
	}
	insert := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return clickhouse.Insert(ctx, conn, "rows", []clickhouse.Column{{Name: "n", Type: "UInt64"}}, func(rows driver.Batch) error { return rows.Append(uint64(7)) })
	}
	require.NoError(t, insert(time.Minute), "through an open gate")

	require.NoError(t, os.Remove(gate))
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	child := r.PID()
	err = insert(2 * time.Second)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, clickhouse.Retryable(err))
	require.Eventually(t, func() bool { pid := r.PID(); return pid != 0 && pid != child }, 2*time.Minute, 10*time.Millisecond, "the child is replaced")
	require.InDelta(t, 1, metric(t, r, "mintlake_embedded_clickhouse_stuck_total"), 0)
	require.InDelta(t, 1, metric(t, r, "mintlake_embedded_clickhouse_restarts_total"), 0)

	require.NoError(t, os.Remove(gate))
	require.NoError(t, os.WriteFile(gate, []byte("open\n"), 0o600))
	require.Eventually(t, func() bool { return insert(time.Minute) == nil }, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, uint64(1), one[uint64](t, conn, "SELECT count() FROM rows FINAL"))
}

// TestTheChildHasNoInput: now and then the engine looks for more rows of an INSERT in its standard
// input. While that was a pipe, such an INSERT never ended.
func TestTheChildHasNoInput(t *testing.T) {
	input, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", start(t, chengine.Config{}).PID()))
	require.NoError(t, err)
	require.Equal(t, os.DevNull, input)
}
