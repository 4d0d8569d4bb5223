package clickhouse_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// statements are what the migrations send to a cluster of this name, or to one machine.
func statements(t *testing.T, cluster string) []string {
	t.Helper()
	files, err := fs.Sub(schema.Migrations, "migrations")
	require.NoError(t, err)
	r := &chtest.Recorder{}
	_, err = clickhouse.Migrate(t.Context(), r, files, clickhouse.Options{Database: schema.Database, Cluster: cluster, Sharding: schema.Sharding()})
	require.NoError(t, err)
	return r.Statements
}

// TestClusterDDLIsParsed has ClickHouse parse each statement of the cluster's form. They are parsed
// and not run: there is no cluster here.
func TestClusterDDLIsParsed(t *testing.T) {
	conn, _ := chtest.Start(t)
	parse := func(statement string) error {
		rows, err := conn.Query(t.Context(), "EXPLAIN AST "+statement)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
		}
		return rows.Err()
	}
	require.Error(t, parse("CREATE TABLE a ON CLUSTER 'c' (b Int8) ENGINE = Distributed('c', 'a', 'b', cityHash64(mint)"), "the test can fail")
	all := statements(t, "main")
	require.Greater(t, len(all), 60)
	for _, statement := range all {
		require.NoError(t, parse(statement), statement)
		if !strings.HasPrefix(statement, "INSERT") { // goes to a Distributed table
			require.Contains(t, statement, "ON CLUSTER 'main'")
		}
	}
}

var (
	table   = regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS mintlake\.(\w+) `)
	sorting = regexp.MustCompile(`(?m)^ORDER BY \(?([a-z_, ]+)\)?$`)
	shardBy = regexp.MustCompile(`Distributed\('main', 'mintlake', '(\w+)', cityHash64\(([a-z_, ]+)\)\)`)
)

// TestWhatFoldsTogetherIsOnOneShard: FINAL, the merges and the folds of a shard are right only if
// it has all rows of a sorting key.
func TestWhatFoldsTogetherIsOnOneShard(t *testing.T) {
	keys, distributed, views := map[string][]string{}, map[string]bool{}, 0
	for _, statement := range statements(t, "main") {
		name := table.FindStringSubmatch(statement)
		switch {
		case strings.HasPrefix(statement, "CREATE DATABASE"), strings.HasPrefix(statement, "ALTER TABLE"):
		case name == nil:
			views++
			require.NotContains(t, statement, "_local", "views read all shards")
			require.NotContains(t, statement, "Distributed")
		case strings.Contains(statement, "ENGINE = Distributed"):
			by := shardBy.FindStringSubmatch(statement)
			require.NotNil(t, by, statement)
			require.Equal(t, clickhouse.LocalTable(name[1]), by[1])
			for column := range strings.SplitSeq(by[2], ", ") {
				require.Contains(t, keys[by[1]], column, "%s is sharded by a column that is not in its sorting key", name[1])
			}
			distributed[by[1]] = true
		default:
			require.Contains(t, statement, "ENGINE = Replicated", "%s", name[1])
			keys[name[1]] = strings.Split(sorting.FindStringSubmatch(statement)[1], ", ")
			require.Equal(t, strings.HasSuffix(name[1], "_local"), strings.Contains(statement, "/{shard}/"), "a path in Keeper is that of one shard's table")
		}
	}
	require.Positive(t, views)
	require.Equal(t, clickhouse.Everywhere, schema.Sharding()["valuations"])
	for name := range keys {
		require.Equal(t, name != "valuations" && name != clickhouse.MigrationsTable, distributed[name], name)
	}
	for name, by := range schema.Sharding() {
		if by != clickhouse.Everywhere {
			require.True(t, distributed[clickhouse.LocalTable(name)], "%s is no table any more", name)
		}
	}
}

var engine = regexp.MustCompile(`(?m)^ENGINE = (Replicated\w+)\('[^']*', '[^']*'(?:, (\w+))?\)`)

// TestPageNamesEachEngine holds docs/clickhouse-cluster.md to what is rendered.
func TestPageNamesEachEngine(t *testing.T) {
	page, err := os.ReadFile("../../docs/clickhouse-cluster.md")
	require.NoError(t, err)
	for _, statement := range statements(t, "main") {
		is := engine.FindStringSubmatch(statement)
		if is == nil {
			continue
		}
		name := strings.TrimSuffix(table.FindStringSubmatch(statement)[1], "_local")
		kind := is[1]
		if is[2] != "" {
			kind += "(" + is[2] + ")"
		}
		by := "`" + schema.Sharding()[name] + "`"
		if by == "`"+clickhouse.Everywhere+"`" || name == clickhouse.MigrationsTable {
			by = "none: every server has it whole"
		}
		require.Contains(t, string(page), "| `"+name+"` | `"+kind+"` | `"+sorting.FindStringSubmatch(statement)[1]+"` | "+by+" |\n")
	}
}

// TestDDLOfOneMachineStays: what was released for one machine is never rendered in another way.
func TestDDLOfOneMachineStays(t *testing.T) {
	const migrations = 8
	var text strings.Builder
	files, err := fs.Sub(schema.Migrations, "migrations")
	require.NoError(t, err)
	names, err := fs.Glob(files, "*.sql")
	require.NoError(t, err)
	r := &chtest.Recorder{}
	first := firstFiles{files, names[:migrations]}
	_, err = clickhouse.Migrate(t.Context(), r, first, clickhouse.Options{Database: schema.Database, Sharding: schema.Sharding()})
	require.NoError(t, err)
	for _, statement := range r.Statements {
		fmt.Fprintln(&text, statement)
	}
	require.NotContains(t, text.String(), "Distributed")
	sum := sha256.Sum256([]byte(text.String()))
	require.Equal(t, "e12cccd41e818f843eeead15256534feb6605cca85061fdedcd915cacf3de850", hex.EncodeToString(sum[:]))
}

// firstFiles is the beginning of a list of files.
type firstFiles struct {
	fs.FS
	names []string
}

// ReadDir implements fs.ReadDirFS.
func (f firstFiles) ReadDir(string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, ".")
	return all[:len(f.names)], err
}

// TestSettingsOfAClusterExist asks the engine for each setting that queries to a cluster carry: a
// server refuses those that it does not know.
func TestSettingsOfAClusterExist(t *testing.T) {
	_, dsn := chtest.Start(t)
	conn, err := clickhouse.Open(t.Context(), dsn, clickhouse.WithCluster("main"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	var changed uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.settings WHERE changed AND name IN ('load_balancing', "+
		"'prefer_localhost_replica', 'distributed_product_mode', 'parallel_distributed_insert_select', 'optimize_skip_unused_shards', "+
		"'distributed_foreground_insert')").Scan(&changed))
	require.Equal(t, uint64(6), changed)
}
