package chengine_test

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

// damages are what disks and people do to a small file.
var damages = map[string]func(t *testing.T, path string){
	"empty":     func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
	"truncated": func(t *testing.T, path string) { change(t, path, func(b []byte) []byte { return b[:len(b)/2] }) },
	"longer":    func(t *testing.T, path string) { change(t, path, func(b []byte) []byte { return append(b, 0xff) }) },
	"zeros": func(t *testing.T, path string) {
		change(t, path, func(b []byte) []byte { return make([]byte, len(b)) })
	},
	"random": func(t *testing.T, path string) {
		change(t, path, func(b []byte) []byte { _, _ = rand.Read(b); return b })
	},
	"wrong types": func(t *testing.T, path string) {
		change(t, path, func([]byte) []byte { return []byte(`{"owner":[1],"store":{"a":2}}`) })
	},
	"a list": func(t *testing.T, path string) { change(t, path, func([]byte) []byte { return []byte(`[]`) }) },
	"text": func(t *testing.T, path string) {
		change(t, path, func([]byte) []byte { return []byte("this is no SQL\n") })
	},
	// It looks like a definition, and only the engine finds out.
	"cut at a line": func(t *testing.T, path string) {
		change(t, path, func([]byte) []byte { return []byte("ATTACH TABLE _ UUID\n") })
	},
	"gone": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
	"folder": func(t *testing.T, path string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.MkdirAll(filepath.Join(path, "inner"), 0o700))
	},
	// No right to read it does not hold for root; a link to itself does.
	"unreadable": func(t *testing.T, path string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Symlink(filepath.Base(path), path))
	},
}

func change(t *testing.T, path string, to func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, to(text), 0o600))
}

// filled makes a data directory with a table, a view and a mutation.
func filled(t *testing.T) string {
	t.Helper()
	r := start(t, chengine.Config{})
	for _, statement := range []string{
		"CREATE DATABASE d ENGINE = Atomic",
		"CREATE TABLE d.t (x Int64, y Int64, INDEX i y TYPE minmax) ENGINE = MergeTree ORDER BY x",
		"INSERT INTO d.t SELECT number, number FROM numbers(1000)",
		"CREATE VIEW d.v AS SELECT x FROM d.t",
		"CREATE DICTIONARY d.n (x Int64, y Int64) PRIMARY KEY x SOURCE(CLICKHOUSE(TABLE 't' DB 'd')) LIFETIME(0) LAYOUT(FLAT())",
		"ALTER TABLE d.t MATERIALIZE INDEX i",
	} {
		require.Equal(t, 200, curl(t, r.Addr(), "", statement).status, statement)
	}
	require.NoError(t, r.stop())
	return r.dir
}

func oneFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, found, pattern)
	return found[0]
}

// TestDamagedStateIsMadeAnew: no small file by which the engine's folder is described stops the
// node. The rows are there, and the log and a metric tell.
func TestDamagedStateIsMadeAnew(t *testing.T) {
	dir := filled(t)
	definitions := []string{"engine/metadata/d.sql", "engine/store/*/*/t.sql", "engine/store/*/*/v.sql", "engine/store/*/*/n.sql", "engine/store/*/*/format_version.txt", "engine/store/*/*/mutation_*.txt"}
	for file, patterns := range map[string][]string{
		"marker": {"mintlake-clickhouse.json"}, "copies": {"definitions.json"}, "definitions": definitions, "what a start writes": {"engine/status", "config.xml", "lock"},
	} {
		for name, damage := range damages {
			patterns := patterns
			if file == "definitions" && name == "gone" {
				// Migrations make views again. A database or a mutation that is gone cannot be told
				// from a dropped one.
				patterns = []string{"engine/store/*/*/t.sql", "engine/store/*/*/format_version.txt"}
			}
			t.Run(file+" "+name, func(t *testing.T) {
				copied := t.TempDir()
				require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
				relink(t, copied)
				// A kill leaves it.
				require.NoError(t, os.WriteFile(filepath.Join(copied, "engine", "status"), []byte("PID: 1\n"), 0o600))
				for _, pattern := range patterns {
					damage(t, oneFile(t, copied, pattern))
				}
				var log bytes.Buffer
				r := launchWith(t, chengine.Config{DataDir: copied}, slog.New(slog.NewTextHandler(&log, nil)))
				require.NoError(t, waitReady(t, r))
				require.Equal(t, "1000\n", curl(t, r.Addr(), "SELECT count() FROM d.t", "").body)
				require.Equal(t, "1000\n", curl(t, r.Addr(), "SELECT count() FROM d.v", "").body)
				require.NoError(t, r.stop())
				if file == "what a start writes" || file == "copies" && name == "gone" {
					return
				}
				require.Contains(t, log.String(), "made anew", "it is told")
				require.Positive(t, mended(t, r.registry))
			})
		}
	}
}

func mended(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "mintlake_embedded_clickhouse_mended_total" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

// relink makes the engine's links again, which CopyFS leaves out or copies as they are.
func relink(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "engine/metadata/d.sql"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "UUID '")
	id, _, _ := strings.Cut(rest, "'")
	link := filepath.Join(dir, "engine/metadata/d")
	if _, err := os.Lstat(link); err != nil {
		require.NoError(t, os.Symlink("../store/"+id[:3]+"/"+id, link))
	}
}

// TestADefinitionWithoutACopyBeginsAnew: as in a folder of an earlier version. The tables are put
// aside, and the empty engine serves: they are made of the log.
func TestADefinitionWithoutACopyBeginsAnew(t *testing.T) {
	dir := filled(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "definitions.json")))
	table := oneFile(t, dir, "engine/store/*/*/t.sql")
	require.NoError(t, os.WriteFile(table, []byte("this is no SQL"), 0o600))
	var log bytes.Buffer
	r := launchWith(t, chengine.Config{DataDir: dir}.WithMaxFailedStarts(3), slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, waitReady(t, r))
	require.Equal(t, "0\n", curl(t, r.Addr(), "SELECT count() FROM system.databases WHERE name = 'd'", "").body)
	require.NoError(t, r.stop())
	require.Contains(t, log.String(), "its tables are put aside, and made anew from the log")
	require.FileExists(t, strings.Replace(table, filepath.Join(dir, "engine"), filepath.Join(dir, "damaged", "engine-1"), 1), "nothing is thrown away")
}

// TestADroppedTableStaysDropped: a copy that is older than a DROP does not bring the table back.
func TestADroppedTableStaysDropped(t *testing.T) {
	dir := filled(t)
	old, err := os.ReadFile(filepath.Join(dir, "definitions.json"))
	require.NoError(t, err)
	r := start(t, chengine.Config{DataDir: dir})
	for _, statement := range []string{"DROP TABLE d.v", "DROP DICTIONARY d.n", "DROP TABLE d.t"} {
		require.Equal(t, 200, curl(t, r.Addr(), "", statement).status, statement)
	}
	require.NoError(t, r.stop())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "definitions.json"), old, 0o600))
	r = start(t, chengine.Config{DataDir: dir})
	require.Equal(t, "0\n", curl(t, r.Addr(), "SELECT count() FROM system.tables WHERE database = 'd'", "").body)
}
