package chengine_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func run(t *testing.T, conn driver.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		require.NoError(t, conn.Exec(t.Context(), s), s)
	}
}

// one returns the single value of a query.
func one[T any](t *testing.T, conn driver.Conn, query string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), query, args...).Scan(&value), query)
	return value
}

// TestProjectorShapes goes through what the projector's tables and statements need.
func TestProjectorShapes(t *testing.T) {
	conn, _ := chtest.Start(t)
	run(t, conn,
		`CREATE TABLE tokens (
			mint String COMMENT 'base58' CODEC(ZSTD(3)),
			supply UInt256,
			position UInt128,
			extensions Array(Tuple(name String, value UInt64)),
			labels Array(LowCardinality(String)),
			kind Enum8('spl' = 1, 'token22' = 2),
			seen DateTime64(3, 'UTC'),
			volume Nullable(Float64),
			version UInt64
		) ENGINE = ReplacingMergeTree(version) ORDER BY mint SETTINGS index_granularity = 128`,
		"CREATE VIEW tokens_now AS SELECT * FROM tokens FINAL",
		"CREATE TABLE counts (kind String, n UInt64) ENGINE = SummingMergeTree ORDER BY kind",
		"CREATE MATERIALIZED VIEW counting TO counts AS SELECT toString(kind) AS kind, count() AS n FROM tokens GROUP BY kind",
	)
	supply, _ := new(big.Int).SetString("115792089237316195423570985008687907853269984665640564039457584007913129639935", 10)
	position := new(big.Int).Lsh(big.NewInt(1), 127)
	seen := time.Date(2026, 11, 20, 1, 2, 3, 456e6, time.UTC)
	volume := 1.5
	for version := range uint64(2) {
		batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO tokens")
		require.NoError(t, err)
		for i := range 1000 {
			require.NoError(t, batch.Append(fmt.Sprintf("mint\n\n\x00%d", i), supply, position,
				[][]any{{"transferFee", version}, {"", uint64(7)}}, []string{"a", "", "ü"}, "token22", seen, &volume, version))
		}
		require.NoError(t, batch.Send())
	}
	require.Equal(t, uint64(2000), one[uint64](t, conn, "SELECT count() FROM tokens"))
	require.Equal(t, uint64(1000), one[uint64](t, conn, "SELECT count() FROM tokens FINAL"))
	require.Equal(t, uint64(1000), one[uint64](t, conn, "SELECT count() FROM tokens_now"))
	require.Equal(t, uint64(1000), one[uint64](t, conn, "SELECT count() FROM tokens WHERE version = 1"))
	final := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"final": 1}))
	var n uint64
	require.NoError(t, conn.QueryRow(final, "SELECT count() FROM tokens").Scan(&n))
	require.Equal(t, uint64(1000), n)
	require.Equal(t, uint64(2000), one[uint64](t, conn, "SELECT count() FROM tokens"), "the setting is gone again")
	require.Equal(t, uint64(2000), one[uint64](t, conn, "SELECT sum(n) FROM counts"))

	var row struct {
		Mint       string           `ch:"mint"`
		Supply     *big.Int         `ch:"supply"`
		Position   *big.Int         `ch:"position"`
		Extensions []map[string]any `ch:"extensions"`
		Labels     []string         `ch:"labels"`
		Kind       string           `ch:"kind"`
		Seen       time.Time        `ch:"seen"`
		Volume     *float64         `ch:"volume"`
		Version    uint64           `ch:"version"`
	}
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT * FROM tokens_now WHERE mint = {mint:String}", ch.Named("mint", "mint\n\n\x007")).ScanStruct(&row))
	require.Equal(t, supply, row.Supply)
	require.Equal(t, position, row.Position)
	require.Equal(t, "transferFee", row.Extensions[0]["name"])
	require.EqualValues(t, 1, row.Extensions[0]["value"])
	require.Equal(t, []string{"a", "", "ü"}, row.Labels)
	require.Equal(t, seen, row.Seen.UTC())
	require.Equal(t, 1.5, *row.Volume)

	run(t, conn,
		"CREATE TABLE copy AS tokens",
		"INSERT INTO copy SELECT * FROM tokens FINAL",
		"ALTER TABLE copy ADD COLUMN IF NOT EXISTS extra UInt8 DEFAULT 3 AFTER mint",
		"EXCHANGE TABLES copy AND tokens",
		"OPTIMIZE TABLE copy FINAL",
	)
	require.Equal(t, uint64(3000), one[uint64](t, conn, "SELECT sum(extra) FROM tokens"))
	require.Equal(t, uint64(1000), one[uint64](t, conn, "SELECT count() FROM copy"))
	run(t, conn, "ALTER TABLE tokens DELETE WHERE mint LIKE '%7' SETTINGS mutations_sync = 2", "TRUNCATE TABLE copy")
	require.Equal(t, uint64(900), one[uint64](t, conn, "SELECT count() FROM tokens"))
}

// TestWideVersionColumns answers whether a ReplacingMergeTree takes UInt128 and UInt256 as its
// version.
func TestWideVersionColumns(t *testing.T) {
	conn, _ := chtest.Start(t)
	for _, typ := range []string{"UInt64", "UInt128", "UInt256"} {
		t.Run(typ, func(t *testing.T) {
			table := "wide_" + typ
			if err := conn.Exec(t.Context(), fmt.Sprintf("CREATE TABLE %s (k UInt8, v %s, x String) ENGINE = ReplacingMergeTree(v) ORDER BY k", table, typ)); err != nil {
				t.Logf("%s as version: %v", typ, err)
				return
			}
			// The higher version differs from the lower in the top bit only, and is inserted first.
			shift := map[string]uint{"UInt64": 63, "UInt128": 127, "UInt256": 255}[typ]
			run(t, conn,
				fmt.Sprintf("INSERT INTO %s SELECT 1, bitShiftLeft(to%s(1), %d), 'new'", table, typ, shift),
				fmt.Sprintf("INSERT INTO %s SELECT 1, to%s(5), 'old'", table, typ))
			require.Equal(t, "new", one[string](t, conn, "SELECT x FROM "+table+" FINAL"))
			run(t, conn, "OPTIMIZE TABLE "+table+" FINAL")
			require.Equal(t, "new", one[string](t, conn, "SELECT x FROM "+table))
			t.Logf("%s works as version", typ)
		})
	}
}

// TestViewOverFinalPushesFilter: a filter on the sorting key must reach the primary index through a
// view over FINAL.
func TestViewOverFinalPushesFilter(t *testing.T) {
	conn, _ := chtest.Start(t)
	run(t, conn,
		"CREATE TABLE t (mint String, v UInt64, x String) ENGINE = ReplacingMergeTree(v) ORDER BY mint SETTINGS index_granularity = 128",
		"INSERT INTO t SELECT toString(number), 1, 'a' FROM numbers(100000)",
		"INSERT INTO t SELECT toString(number), 2, 'b' FROM numbers(100000)",
		"CREATE VIEW v AS SELECT mint, upper(x) AS x FROM t FINAL")
	for _, query := range []string{
		"SELECT * FROM v WHERE mint = '4711'",
		"SELECT * FROM v WHERE mint IN ('4711', '12')",
		"SELECT * FROM t FINAL WHERE mint = '4711'",
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN indexes = 1 "+query)
		require.NoError(t, err)
		var plan []string
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			plan = append(plan, line)
		}
		require.NoError(t, rows.Err())
		text := strings.Join(plan, "\n")
		t.Log(query, "\n", text)
		require.Contains(t, text, "PrimaryKey")
		require.NotContains(t, text, "Condition: true")
	}
	require.Equal(t, "B", one[string](t, conn, "SELECT x FROM v WHERE mint = '4711'"))
}

func TestErrorsAreTyped(t *testing.T) {
	conn, _ := chtest.Start(t)
	for query, code := range map[string]int32{
		"SELECT * FROM missing": 60,
		"SELEKT 1":              62,
		"SELECT throwIf(number = 3) FROM numbers(10)":                       395,
		"SELECT 1 SETTINGS no_such_setting = 1":                             115,
		"SELECT groupArray(number) FROM numbers(100000000)":                 241,
		"SELECT * FROM numbers(1000000000) SETTINGS max_execution_time=0.1": 159,
		"SELECT * FROM nosuchdb.t":                                          81,
	} {
		ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"max_memory_usage": 100 << 20}))
		rows, err := conn.Query(ctx, query)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
		}
		var exception *ch.Exception
		require.ErrorAs(t, err, &exception, query)
		require.Equal(t, code, exception.Code, query)
	}
	require.Equal(t, uint8(1), one[uint8](t, conn, "SELECT 1"))
}

// TestErrorMidStream: an error after the first rows were sent must reach the client as an error.
func TestErrorMidStream(t *testing.T) {
	addr := chtest.Addr(t)
	for _, compression := range []ch.CompressionMethod{ch.CompressionNone, ch.CompressionLZ4, ch.CompressionZSTD} {
		conn := openWith(t, addr, compression)
		rows, err := conn.Query(t.Context(), "SELECT throwIf(number = 2000000, 'as planned'), toString(number) FROM numbers(3000000) SETTINGS max_threads = 1")
		require.NoError(t, err)
		n := 0
		for rows.Next() {
			n++
		}
		require.Positive(t, n, "some rows came first")
		var exception *ch.Exception
		require.ErrorAs(t, rows.Err(), &exception, compression)
		require.EqualValues(t, 395, exception.Code)
		require.Equal(t, uint8(1), one[uint8](t, conn, "SELECT 1"))
	}
}

func openWith(t *testing.T, addr string, method ch.CompressionMethod) driver.Conn {
	t.Helper()
	conn, err := ch.Open(&ch.Options{Protocol: ch.HTTP, Addr: []string{addr}, Compression: &ch.Compression{Method: method}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestCompression sends and fetches a large table in each way that clickhouse-go can.
func TestCompression(t *testing.T) {
	_, dsn := chtest.Start(t)
	addr := chtest.Addr(t)
	database := dsn[strings.LastIndex(dsn, "/")+1:]
	for _, method := range []ch.CompressionMethod{ch.CompressionNone, ch.CompressionLZ4, ch.CompressionZSTD, ch.CompressionGZIP} {
		t.Run(method.String(), func(t *testing.T) {
			conn := openWith(t, addr, method)
			table := database + ".c_" + method.String()
			run(t, conn, "CREATE TABLE "+table+" (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO "+table)
			require.NoError(t, err)
			for i := range 100000 {
				require.NoError(t, batch.Append(uint64(i), strings.Repeat("\n", i%5)))
			}
			require.NoError(t, batch.Send())
			rows, err := conn.Query(t.Context(), "SELECT n, s FROM "+table+" ORDER BY n")
			require.NoError(t, err)
			var i int
			for ; rows.Next(); i++ {
				var n uint64
				var s string
				require.NoError(t, rows.Scan(&n, &s))
				require.Equal(t, uint64(i), n)
				require.Len(t, s, i%5)
			}
			require.NoError(t, rows.Err())
			require.Equal(t, 100000, i)
		})
	}
}

func TestEmptyResultsAndInserts(t *testing.T) {
	conn, _ := chtest.Start(t)
	run(t, conn, "CREATE TABLE e (n UInt64) ENGINE = MergeTree ORDER BY n")
	rows, err := conn.Query(t.Context(), "SELECT n FROM e")
	require.NoError(t, err)
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO e")
	require.NoError(t, err)
	require.NoError(t, batch.Send())
	var all []struct {
		N uint64 `ch:"n"`
	}
	require.NoError(t, conn.Select(t.Context(), &all, "SELECT n FROM e"))
	require.Empty(t, all)
}

func TestAsyncInsert(t *testing.T) {
	conn, _ := chtest.Start(t)
	run(t, conn, "CREATE TABLE a (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	ctx := ch.Context(t.Context(), ch.WithAsync(true))
	for i := range 20 {
		require.NoError(t, conn.Exec(ctx, "INSERT INTO a VALUES (?, ?)", i, "x'y\n\nz"))
	}
	require.Equal(t, uint64(20), one[uint64](t, conn, "SELECT count() FROM a WHERE s = 'x\\'y\\n\\nz'"))
}

// TestSettingsStayWithTheirRequest: connections are reused, settings must not be.
func TestSettingsStayWithTheirRequest(t *testing.T) {
	addr := chtest.Addr(t)
	value := "SELECT value, changed FROM system.settings WHERE name = 'max_block_size'"
	want := curl(t, addr, value, "").body
	for range 20 { // more than there are connections
		require.Contains(t, curl(t, addr, value, "", "max_block_size", "4242").body, "4242")
		require.Equal(t, 200, curl(t, addr, "", "SET max_block_size = 4243").status)
		require.Equal(t, 200, curl(t, addr, "", "USE system").status)
		require.Equal(t, 400, curl(t, addr, "SELECT 1", "", "max_block_size", "no number").status/100*100)
		require.Equal(t, 400, curl(t, addr, "SELECT 1", "", "no_such_setting", "1").status)
		require.Contains(t, curl(t, addr, "SELECT 1", "", "readonly", "1").body, "1")
		require.Equal(t, want, curl(t, addr, value, "").body)
		require.Equal(t, "default\n", curl(t, addr, "SELECT currentDatabase()", "").body)
		require.Equal(t, "0\n", curl(t, addr, "", "SELECT value FROM system.settings WHERE name = 'readonly'").body)
	}
}

// TestCancel: a query ends when its client goes away, and the connection serves the next one.
func TestCancel(t *testing.T) {
	conn, _ := chtest.Start(t)
	running := "SELECT count() FROM system.processes WHERE query LIKE '%cancel me%' AND query NOT LIKE '%processes%'"
	for i := range 10 { // more than there are connections
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+20*i)*time.Millisecond)
		rows, err := conn.Query(ctx, "SELECT /* cancel me */ sum(cityHash64(number, rand())) FROM numbers(100000000000)")
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
		}
		cancel()
		require.Error(t, err)
	}
	require.Eventually(t, func() bool { return one[uint64](t, conn, running) == 0 }, time.Minute, 20*time.Millisecond)
}

// TestLargeResultIsStreamed: the engine's process must not hold a large result.
func TestLargeResultIsStreamed(t *testing.T) {
	e := chtest.Engine(t)
	conn := openWith(t, e.Addr(), ch.CompressionNone)
	before := residentMiB(t, e.PID())
	rows, err := conn.Query(t.Context(), "SELECT number, toString(number), repeat('x', 100) FROM numbers(2000000)")
	require.NoError(t, err)
	var n, most int
	for ; rows.Next(); n++ {
		if n%100000 == 0 {
			most = max(most, residentMiB(t, e.PID()))
		}
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 2000000, n)
	t.Logf("about 240 MiB streamed: %d MiB before, at most %d during", before, most)
	require.Less(t, most-before, 120)
}
