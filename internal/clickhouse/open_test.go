package clickhouse_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestOpen(t *testing.T) {
	conn, dsn := chtest.Start(t)
	var database string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT currentDatabase()").Scan(&database))
	named, err := clickhouse.Database(dsn)
	require.NoError(t, err)
	require.Equal(t, named, database)

	other, err := clickhouse.Open(t.Context(), dsn, clickhouse.WithDatabase("system"))
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	var value string
	require.NoError(t, other.QueryRow(t.Context(), "SELECT currentDatabase()").Scan(&value))
	require.Equal(t, "system", value)
}

func TestOpenFails(t *testing.T) {
	for dsn, text := range map[string]string{
		"clickhouse://user:geheim@host:not-a-port/db": "clickhouse dsn",
		"ftp://user:geheim@host/db":                   "clickhouse dsn",
		"http://user:geheim@127.0.0.1:1/db":           "127.0.0.1:1",
		"clickhouse://user:geheim@127.0.0.1:1/db":     "127.0.0.1:1",
		"http://user:geheim@127.0.0.1:1/%zz":          "clickhouse dsn",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := clickhouse.Open(ctx, dsn)
		cancel()
		require.ErrorContains(t, err, text, dsn)
		require.NotContains(t, err.Error(), "geheim", "the password must not leak")
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestDatabaseOfDSN(t *testing.T) {
	for dsn, want := range map[string]string{"http://h:1": "default", "http://h:1/": "default", "clickhouse://a:b@h:9000/mintlake?dial_timeout=1s": "mintlake"} {
		got, err := clickhouse.Database(dsn)
		require.NoError(t, err)
		require.Equal(t, want, got, dsn)
	}
}
