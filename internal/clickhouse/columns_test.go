package clickhouse_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestCheckColumns(t *testing.T) {
	conn, dsn := chtest.Start(t)
	database, err := clickhouse.Database(dsn)
	require.NoError(t, err)
	require.NoError(t, conn.Exec(t.Context(), `CREATE TABLE t (mint String, n UInt64, tags Array(Tuple(name String, value UInt64)), kind Enum8('a' = 1, 'b' = 2), seen DateTime64(3, 'UTC'))
		ENGINE = MergeTree ORDER BY mint`))
	check := func(want ...clickhouse.Column) error {
		return clickhouse.CheckColumns(t.Context(), conn, database, "t", want)
	}
	require.NoError(t, check(
		clickhouse.Column{Name: "seen", Type: "DateTime64(3,'UTC')"},
		clickhouse.Column{Name: "tags", Type: "Array(Tuple(name String, value UInt64))"},
		clickhouse.Column{Name: "kind", Type: "Enum8('a' = 1, 'b' = 2)"},
		clickhouse.Column{Name: "n"},
	))
	err = check(clickhouse.Column{Name: "mint", Type: "UInt8"}, clickhouse.Column{Name: "supply", Type: "UInt256"}, clickhouse.Column{Name: "n", Type: "UInt32"})
	var columns *clickhouse.ColumnsError
	require.ErrorAs(t, err, &columns)
	require.Len(t, columns.Problems, 3, "all at once")
	for _, text := range []string{database + ".t", "mint is String, not UInt8", "supply UInt256 is missing", "n is UInt64, not UInt32", "mintlake migrate"} {
		require.ErrorContains(t, err, text)
	}
	require.NotContains(t, err.Error(), "\n")

	err = clickhouse.CheckColumns(t.Context(), conn, database, "missing", nil)
	require.ErrorAs(t, err, &columns)
	require.True(t, columns.Missing)
}
