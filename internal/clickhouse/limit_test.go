package clickhouse_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestWritesHaveALimitOfTheirOwn(t *testing.T) {
	admin, dsn := chtest.Start(t)
	require.NoError(t, admin.Exec(t.Context(), "CREATE TABLE slow (n UInt64, m UInt64 MATERIALIZED sleepEachRow(0.05)) ENGINE = MergeTree ORDER BY n"))
	conn, err := clickhouse.Open(t.Context(), dsn, clickhouse.WithWriteLimit(time.Second))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	insert := func(ctx context.Context, rows int) error {
		return clickhouse.Insert(ctx, conn, "slow", []clickhouse.Column{{Name: "n", Type: "UInt64"}}, func(batch driver.Batch) error {
			for i := range rows {
				if err := batch.Append(uint64(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	const slow = "INSERT INTO slow SELECT number FROM numbers(30) SETTINGS max_block_size = 1, max_threads = 1, min_insert_block_size_rows = 1"
	for name, write := range map[string]func(context.Context) error{
		"batch": func(ctx context.Context) error { return insert(ctx, 30) },
		"exec":  func(ctx context.Context) error { return conn.Exec(ctx, slow) },
	} {
		t.Run(name, func(t *testing.T) {
			err := write(t.Context())
			require.ErrorIs(t, err, clickhouse.ErrWriteLimit)
			require.True(t, clickhouse.Retryable(err))
			require.Eventually(t, func() bool {
				var running uint64
				row := admin.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO slow%'")
				return row.Scan(&running) == nil && running == 0
			}, time.Minute, 10*time.Millisecond, "the engine stops")
			require.NoError(t, write(clickhouse.WithAttempt(t.Context(), 6)), "later attempts have more time")
		})
	}
	require.NoError(t, insert(clickhouse.WithAttempt(t.Context(), 6), 1))

	stopped, stop := context.WithCancel(t.Context())
	stop()
	err = insert(stopped, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, errors.Is(err, clickhouse.ErrWriteLimit))
	require.False(t, clickhouse.Retryable(err), "the caller wants to stop")
	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.False(t, errors.Is(conn.Exec(soon, slow), clickhouse.ErrWriteLimit), "the caller's deadline is no limit of ours")
}
