package clickhouse_test

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// TestAnInsertIsOneQuery: nothing is asked of the server before it, as its caller knows the types.
func TestAnInsertIsOneQuery(t *testing.T) {
	conn, _ := chtest.Start(t)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE rows (n UInt64, most SimpleAggregateFunction(max, Int64)) ENGINE = AggregatingMergeTree ORDER BY n"))
	queries := func() (count uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT value FROM system.events WHERE event = 'Query'").Scan(&count))
		return count
	}
	columns := []clickhouse.Column{{Name: "n", Type: "UInt64"}, {Name: "most", Type: "SimpleAggregateFunction(max, Int64)"}}
	insert := func(n uint64) {
		require.NoError(t, clickhouse.Insert(t.Context(), conn, "rows", columns, func(batch driver.Batch) error { return batch.Append(n, int64(8)) }))
	}
	fewest := uint64(100)
	for n := range uint64(5) { // a new connection asks for the server's version first
		before := queries()
		insert(n)
		fewest = min(fewest, queries()-before)
	}
	require.EqualValues(t, 2, fewest, "the insert and the question itself")
	var sum int64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT sum(n + most) FROM rows").Scan(&sum))
	require.EqualValues(t, 0+1+2+3+4+5*8, sum)
}
