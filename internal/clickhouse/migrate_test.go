package clickhouse_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// files makes a file system of migrations from pairs of name and text.
func files(pairs ...string) fstest.MapFS {
	all := fstest.MapFS{"README.md": {Data: []byte("not a migration")}}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return all
}

const (
	first = `-- Tokens; as they are now.
CREATE TABLE IF NOT EXISTS {{.Database}}.tokens {{onCluster}}
(
    mint    String COMMENT 'base58; never empty', -- a comment; with a semicolon
    version UInt64
)
ENGINE = {{engine "ReplacingMergeTree" "version"}}
ORDER BY mint;

CREATE OR REPLACE VIEW {{.Database}}.tokens_now {{onCluster}} AS
SELECT * FROM {{.Database}}.tokens FINAL;
`
	second = `ALTER TABLE {{.Database}}.tokens {{onCluster}} ADD COLUMN IF NOT EXISTS symbol String;` + "\n"
)

// migration is a database of a test's own.
func newDatabase(t *testing.T) (driver.Conn, clickhouse.Options) {
	t.Helper()
	conn, dsn := chtest.Start(t)
	name, err := clickhouse.Database(dsn)
	require.NoError(t, err)
	opt := clickhouse.Options{Database: name + "_migrated"}
	t.Cleanup(func() { _ = conn.Exec(context.Background(), "DROP DATABASE IF EXISTS "+opt.Database) })
	return conn, opt
}

func TestMigrate(t *testing.T) {
	conn, opt := newDatabase(t)
	applied, err := clickhouse.Migrate(t.Context(), conn, files("0001_tokens.sql", first), opt)
	require.NoError(t, err)
	require.Equal(t, []string{"0001_tokens.sql"}, applied)

	all := files("0001_tokens.sql", first, "0002_symbol.sql", second)
	applied, err = clickhouse.Migrate(t.Context(), conn, all, opt)
	require.NoError(t, err)
	require.Equal(t, []string{"0002_symbol.sql"}, applied)
	require.NoError(t, clickhouse.CheckColumns(t.Context(), conn, opt.Database, "tokens", []clickhouse.Column{{"mint", "String"}, {"version", "UInt64"}, {"symbol", "String"}}))
	require.NoError(t, clickhouse.CheckColumns(t.Context(), conn, opt.Database, "tokens_now", []clickhouse.Column{{"mint", "String"}}))

	applied, err = clickhouse.Migrate(t.Context(), conn, all, opt)
	require.NoError(t, err)
	require.Empty(t, applied)

	_, err = clickhouse.Migrate(t.Context(), conn, files("0001_tokens.sql", first), opt)
	require.ErrorIs(t, err, clickhouse.ErrNewerDatabase)
	require.ErrorContains(t, err, "0002_symbol.sql")
	require.NotContains(t, err.Error(), "\n")

	_, err = clickhouse.Migrate(t.Context(), conn, files("0001_tokens.sql", first+" ", "0002_symbol.sql", second), opt)
	require.ErrorIs(t, err, clickhouse.ErrChangedMigration)
	require.ErrorContains(t, err, "0001_tokens.sql")
	require.NotContains(t, err.Error(), "\n")
}

// failing breaks off at the nth statement, as a kill would.
type failing struct {
	driver.Conn
	left int
}

func (f *failing) Exec(ctx context.Context, query string, args ...any) error {
	if f.left--; f.left < 0 {
		return context.DeadlineExceeded
	}
	return f.Conn.Exec(ctx, query, args...)
}

func (f *failing) PrepareBatch(ctx context.Context, query string, opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	if f.left--; f.left < 0 {
		return nil, context.DeadlineExceeded
	}
	return f.Conn.PrepareBatch(ctx, query, opts...)
}

// TestMigrateIsTakenUpAgain breaks a run off at each of its statements; the next run must finish
// the work.
func TestMigrateIsTakenUpAgain(t *testing.T) {
	all := files("0001_tokens.sql", first, "0002_symbol.sql", second)
	for n := 0; ; n++ {
		conn, opt := newDatabase(t)
		_, err := clickhouse.Migrate(t.Context(), &failing{conn, n}, all, opt)
		if err == nil {
			require.Greater(t, n, 6, "every statement was the last once")
			return
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = clickhouse.Migrate(t.Context(), conn, all, opt)
		require.NoError(t, err, "after %d statements", n)
		var recorded uint64
		require.NoError(t, conn.QueryRow(t.Context(), fmt.Sprintf("SELECT count() FROM %s.%s FINAL", opt.Database, clickhouse.MigrationsTable)).Scan(&recorded))
		require.Equal(t, uint64(2), recorded)
	}
}

func TestMigrateTwiceAtOnce(t *testing.T) {
	conn, opt := newDatabase(t)
	// A view that is replaced again and again while others alter it.
	view := strings.Repeat(`CREATE OR REPLACE VIEW {{.Database}}.symbols {{onCluster}} AS SELECT symbol FROM {{.Database}}.tokens;
ALTER TABLE {{.Database}}.symbols {{onCluster}} MODIFY COMMENT 'Symbols';
`, 4)
	all := files("0001_tokens.sql", first, "0002_symbol.sql", second, "0003_view.sql", view)
	var group sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		group.Go(func() { _, errs[i] = clickhouse.Migrate(context.Background(), conn, all, opt) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	applied, err := clickhouse.Migrate(t.Context(), conn, all, opt)
	require.NoError(t, err)
	require.Empty(t, applied)
}

func TestMigrateRefuses(t *testing.T) {
	conn, opt := newDatabase(t)
	for name, c := range map[string]struct {
		files fstest.MapFS
		text  string
	}{
		"name":        {files("1_a.sql", second), "the name must be like"},
		"gap":         {files("0001_a.sql", second, "0003_b.sql", second), "expected number 0002"},
		"twice":       {files("0001_a.sql", second, "0001_b.sql", second), "expected number 0002"},
		"empty":       {files("0001_a.sql", "-- nothing;\n"), "no statement"},
		"template":    {files("0001_a.sql", "{{.Nothing}}"), "0001_a.sql"},
		"engine":      {files("0001_a.sql", `{{engine "Log"}}`), "MergeTree"},
		"unguarded":   {files("0001_a.sql", "CREATE TABLE x (a Int8)\nENGINE = Memory;"), "IF [NOT] EXISTS"},
		"unguarded 2": {files("0001_a.sql", "ALTER TABLE x\nADD COLUMN a Int8;"), "IF [NOT] EXISTS"},
	} {
		_, err := clickhouse.Migrate(t.Context(), conn, c.files, opt)
		require.ErrorContains(t, err, c.text, name)
	}
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.databases WHERE name = ?", opt.Database).Scan(&n))
	require.Zero(t, n, "a mistake in the files is found before anything runs")

	_, err := clickhouse.Migrate(t.Context(), conn, files(), clickhouse.Options{Database: "a b"})
	require.ErrorContains(t, err, "database name")
	_, err = clickhouse.Migrate(t.Context(), conn, files(), clickhouse.Options{Database: "a", Cluster: "x'y"})
	require.ErrorContains(t, err, "cluster name")
	_, err = clickhouse.Migrate(t.Context(), conn, files("0001_a.sql", "CREATE TABLE IF NOT EXISTS x (a Int8);"), clickhouse.Options{Database: opt.Database, Cluster: "c"})
	require.ErrorContains(t, err, "onCluster")
}

// recorder keeps what would be sent to a cluster.
type recorder struct {
	driver.Conn
	statements []string
}

func (r *recorder) Exec(_ context.Context, query string, _ ...any) error {
	r.statements = append(r.statements, query)
	return nil
}

func (r *recorder) Select(context.Context, any, string, ...any) error { return nil }

func (r *recorder) PrepareBatch(context.Context, string, ...driver.PrepareBatchOption) (driver.Batch, error) {
	return nil, context.Canceled
}

func TestMigrateInACluster(t *testing.T) {
	r := &recorder{}
	_, err := clickhouse.Migrate(t.Context(), r, files("0001_tokens.sql", first), clickhouse.Options{
		Database: "mintlake", Cluster: "main", Sharding: map[string]string{"tokens": "cityHash64(mint)"},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.statements, 5)
	require.Equal(t, "CREATE DATABASE IF NOT EXISTS mintlake ON CLUSTER 'main' ENGINE = Atomic", r.statements[0])
	require.Contains(t, r.statements[1], "ReplicatedReplacingMergeTree('/clickhouse/tables/{database}/schema_migrations', '{shard}-{replica}', applied_at)")
	require.Contains(t, r.statements[2], "CREATE TABLE IF NOT EXISTS mintlake.tokens_local ON CLUSTER 'main'\n(")
	require.Contains(t, r.statements[2], "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', version)")
	require.NotContains(t, r.statements[2], "Tokens; as they are now", "whole-line comments go")
	require.Contains(t, r.statements[3], "CREATE TABLE IF NOT EXISTS mintlake.tokens ON CLUSTER 'main'\nAS mintlake.tokens_local\n"+
		"ENGINE = Distributed('main', 'mintlake', 'tokens_local', cityHash64(mint))")
	require.Equal(t, "CREATE OR REPLACE VIEW mintlake.tokens_now ON CLUSTER 'main' AS\nSELECT * FROM mintlake.tokens FINAL", r.statements[4])

	// A change of columns reaches both tables, another one the rows only; a view is what it is.
	third := "ALTER TABLE {{.Database}}.tokens {{onCluster}} MODIFY SETTING index_granularity_bytes = 1;\nALTER TABLE {{.Database}}.tokens_now {{onCluster}} MODIFY COMMENT 'x';\n"
	r = &recorder{}
	opt := clickhouse.Options{Database: "mintlake", Cluster: "main", Sharding: map[string]string{"tokens": "cityHash64(mint)"}}
	_, err = clickhouse.Migrate(t.Context(), r, files("0001_symbol.sql", second+third), opt)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{
		"ALTER TABLE mintlake.tokens_local ON CLUSTER 'main' ADD COLUMN IF NOT EXISTS symbol String",
		"ALTER TABLE mintlake.tokens ON CLUSTER 'main' ADD COLUMN IF NOT EXISTS symbol String",
		"ALTER TABLE mintlake.tokens_local ON CLUSTER 'main' MODIFY SETTING index_granularity_bytes = 1",
		"ALTER TABLE mintlake.tokens_now ON CLUSTER 'main' MODIFY COMMENT 'x'",
	}, r.statements[2:])

	opt.Sharding = nil
	_, err = clickhouse.Migrate(t.Context(), r, files("0001_tokens.sql", first), opt)
	require.ErrorContains(t, err, "tokens has no sharding key")
}

// TestWhatIsMissingIsMadeAgainOrTold: ClickHouse starts in silence without a view or a table whose
// definition is gone from the disk.
func TestWhatIsMissingIsMadeAgainOrTold(t *testing.T) {
	conn, opt := newDatabase(t)
	all := files("0001_tokens.sql", first, "0002_symbol.sql", second, "0003_comment.sql",
		"ALTER TABLE {{.Database}}.tokens_now {{onCluster}} MODIFY COMMENT 'One row a token';\n\n"+
			"CREATE OR REPLACE VIEW {{.Database}}.former {{onCluster}} AS SELECT 1;\n\nDROP VIEW IF EXISTS {{.Database}}.former {{onCluster}};\n")
	_, err := clickhouse.Migrate(t.Context(), conn, all, opt)
	require.NoError(t, err)
	comment := func() (text string) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT comment FROM system.tables WHERE database = $1 AND name = 'tokens_now'", opt.Database).Scan(&text))
		return text
	}
	require.Equal(t, "One row a token", comment())
	require.NoError(t, conn.Exec(t.Context(), "DROP VIEW "+opt.Database+".tokens_now SYNC"))
	applied, err := clickhouse.Migrate(t.Context(), conn, all, opt)
	require.NoError(t, err)
	require.Equal(t, []string{"tokens_now, which was missing"}, applied)
	require.Equal(t, "One row a token", comment())
	applied, err = clickhouse.Migrate(t.Context(), conn, all, opt)
	require.NoError(t, err)
	require.Empty(t, applied)

	require.NoError(t, conn.Exec(t.Context(), "DROP TABLE "+opt.Database+".tokens SYNC"))
	_, err = clickhouse.Migrate(t.Context(), conn, all, opt)
	require.ErrorIs(t, err, clickhouse.ErrMissingTable)
	require.ErrorContains(t, err, opt.Database+".tokens of migration 0001_tokens.sql")
}
