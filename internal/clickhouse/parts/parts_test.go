package parts

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// node is an engine that a test stops, damages and starts again.
type node struct {
	t      *testing.T
	dir    string
	engine *chengine.Engine
	conn   driver.Conn
	stop   func()
}

func (n *node) start() {
	chtest.NeedsEngine(n.t)
	engine, err := chengine.New(chengine.Config{DataDir: filepath.Join(n.dir, "clickhouse"), Addr: "127.0.0.1:0"}, chengine.Deps{})
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = engine.Run(ctx) }()
	require.NoError(n.t, engine.WaitReady(n.t.Context()))
	conn, err := clickhouse.Open(n.t.Context(), engine.DSN())
	require.NoError(n.t, err)
	n.engine, n.conn = engine, conn
	n.stop = func() {
		_ = conn.Close()
		cancel()
		<-ended
	}
}

func (n *node) exec(statements ...string) {
	for _, s := range statements {
		require.NoError(n.t, n.conn.Exec(n.t.Context(), s), s)
	}
}

// part is the folder of a part of table d.
func (n *node) part(name string) string {
	found, err := filepath.Glob(filepath.Join(n.dir, "clickhouse/engine/store/*/*", name))
	require.NoError(n.t, err)
	require.Len(n.t, found, 1, name)
	return found[0]
}

// parts are the names of the active ones.
func (n *node) parts() (names []string) {
	require.NoError(n.t, n.conn.QueryRow(n.t.Context(), "SELECT arraySort(groupArray(name)) FROM system.parts WHERE table = 'd' AND active").Scan(&names))
	return names
}

// watched looks at the parts, and checks them all, as a process does after its start.
func (n *node) watched(log *bytes.Buffer) ([]Damage, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	w, err := New(Config{Database: "mintlake", Manifest: filepath.Join(n.dir, "parts.json"), every: 10 * time.Millisecond, checkBytesPerSecond: 1 << 30},
		Deps{Conn: n.conn, Logger: slog.New(slog.NewTextHandler(log, nil)), Registerer: registry})
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(n.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	require.Eventually(n.t, func() bool {
		families, err := registry.Gather()
		require.NoError(n.t, err)
		for _, f := range families {
			if f.GetName() == "mintlake_clickhouse_checked_parts_total" {
				return f.GetMetric()[0].GetCounter().GetValue() >= float64(len(n.parts()))
			}
		}
		return false
	}, time.Minute, 20*time.Millisecond, "all parts are checked")
	require.NoError(n.t, w.Look(n.t.Context()))
	damage, known := w.Damage()
	require.True(n.t, known)
	cancel()
	require.NoError(n.t, <-ended)
	return damage, registry
}

// TestDamageIsSeen: whatever happens to a part while nothing runs is told after the next start.
func TestDamageIsSeen(t *testing.T) {
	flip := func(file string) func(*node, string) {
		return func(n *node, part string) {
			files, err := filepath.Glob(filepath.Join(n.part(part), file))
			require.NoError(n.t, err)
			text, err := os.ReadFile(files[0])
			require.NoError(n.t, err)
			text[len(text)/2] ^= 1
			require.NoError(n.t, os.WriteFile(files[0], text, 0o600))
		}
	}
	for _, test := range []struct {
		name   string
		damage func(n *node, part string)
		kinds  []string // sorted as Damage sorts: by part
	}{
		{"nothing", func(*node, string) {}, nil},
		{"a part is deleted", func(n *node, part string) { require.NoError(n.t, os.RemoveAll(n.part(part))) }, []string{Lost}},
		{"a bit of the rows flips", flip("data.bin"), []string{Broken}},
		{"a bit of the marks flips", flip("data.*mrk*"), []string{Lost, Detached}},
		{"a bit of the checksums flips", flip("checksums.txt"), []string{Lost, Detached}},
		{"the data is moved, and a part lost on the way", func(n *node, part string) {
			require.NoError(n.t, os.RemoveAll(n.part(part)))
			moved := filepath.Join(n.t.TempDir(), "moved")
			require.NoError(n.t, os.Rename(n.dir, moved))
			n.dir = moved
		}, []string{Lost}},
		{"the table's folder is deleted", func(n *node, part string) { require.NoError(n.t, os.RemoveAll(filepath.Dir(n.part(part)))) }, []string{Lost, Lost, Lost}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := &node{t: t, dir: t.TempDir()}
			n.start()
			n.exec("CREATE DATABASE mintlake ENGINE = Atomic", "CREATE TABLE mintlake.d (n UInt64, s String) ENGINE = ReplacingMergeTree ORDER BY n",
				"SYSTEM STOP MERGES mintlake.d",
				"INSERT INTO mintlake.d SELECT number, toString(number) FROM numbers(1000)",
				"INSERT INTO mintlake.d SELECT number, toString(number) FROM numbers(1000, 1000)",
				"INSERT INTO mintlake.d SELECT number, toString(number) FROM numbers(2000, 1000)")
			var log bytes.Buffer
			damage, _ := n.watched(&log)
			require.Empty(t, damage)
			name := n.parts()[1]
			n.stop()
			test.damage(n, name)
			n.start()
			damage, registry := n.watched(&log)
			var kinds []string
			for _, d := range damage {
				kinds = append(kinds, d.Kind)
				require.Equal(t, "d", d.Table)
			}
			require.ElementsMatch(t, test.kinds, kinds)
			if len(test.kinds) == 0 {
				require.Empty(t, log.String())
				n.stop()
				return
			}
			require.Contains(t, log.String(), "a part of a clickhouse table is damaged")
			families, err := registry.Gather()
			require.NoError(t, err)
			for _, f := range families {
				if f.GetName() == "mintlake_clickhouse_damaged_parts" {
					sum := 0.0
					for _, m := range f.GetMetric() {
						sum += m.GetGauge().GetValue()
					}
					require.InDelta(t, len(test.kinds), sum, 0)
				}
			}
			n.stop()
		})
	}
}

// TestMergesLoseNothing: parts that were merged, and tables that were made anew, are not lost.
func TestMergesLoseNothing(t *testing.T) {
	n := &node{t: t, dir: t.TempDir()}
	n.start()
	n.exec("CREATE DATABASE mintlake ENGINE = Atomic", "CREATE TABLE mintlake.d (n UInt64, m UInt64 DEFAULT 1) ENGINE = MergeTree ORDER BY n")
	var log bytes.Buffer
	for range 3 {
		n.exec("INSERT INTO mintlake.d (n) SELECT number FROM numbers(10)", "INSERT INTO mintlake.d (n) SELECT number FROM numbers(10)")
		n.watched(&log)
		n.exec("OPTIMIZE TABLE mintlake.d FINAL")
	}
	damage, _ := n.watched(&log)
	require.Empty(t, damage)
	n.exec("ALTER TABLE mintlake.d UPDATE m = 2 WHERE 1 SETTINGS mutations_sync = 2", "INSERT INTO mintlake.d (n) VALUES (1)")
	damage, _ = n.watched(&log)
	require.Empty(t, damage)
	n.exec("DROP TABLE mintlake.d SYNC", "CREATE TABLE mintlake.d (n UInt64, m UInt64 DEFAULT 1) ENGINE = MergeTree ORDER BY n", "INSERT INTO mintlake.d (n) VALUES (1)")
	damage, _ = n.watched(&log)
	require.Empty(t, damage)

	n.exec("TRUNCATE TABLE mintlake.d", "INSERT INTO mintlake.d (n) VALUES (2)")
	damage, _ = n.watched(&log)
	require.Len(t, damage, 1, "rows that somebody took away are lost")
	require.NoError(t, Forget(filepath.Join(n.dir, "parts.json"), []string{"d"}))
	damage, _ = n.watched(&log)
	require.Empty(t, damage)
	n.stop()
}
