package chengine_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "VmRSS:")
	require.True(t, ok)
	var kib int
	_, err = fmt.Sscan(rest, &kib)
	require.NoError(t, err)
	return kib >> 10
}

func TestCurl(t *testing.T) {
	_, dsn := chtest.Start(t)
	addr := chtest.Engine(t).Addr()
	database := dsn[strings.LastIndex(dsn, "/")+1:]
	db := []string{"database", database}
	post := func(query string) answer { return curl(t, addr, "", query, db...) }

	require.Equal(t, "1\n", curl(t, addr, "SELECT 1", "").body)
	require.Equal(t, "1\n", curl(t, addr, "", "SELECT 1").body)
	require.Equal(t, "3\n", curl(t, addr, "SELECT 1 +", "2").body, "the body continues the query")
	require.Equal(t, "{\"x\":1}\n", curl(t, addr, "SELECT 1 AS x FORMAT JSONEachRow", "").body)
	require.Equal(t, "x\n1\n", strings.ReplaceAll(curl(t, addr, "SELECT 1 AS x", "", "default_format", "CSVWithNames").body, `"`, ""))
	require.Equal(t, "a'b\n", curl(t, addr, "SELECT {p:String} FORMAT TSVRaw", "", "param_p", "a'b").body)
	require.Equal(t, "5\n", curl(t, addr, "SELECT sum(x) FROM (SELECT 2 AS x UNION ALL SELECT 3)", "").body)

	require.Equal(t, 200, post("CREATE TABLE t (n UInt32, s String) ENGINE = MergeTree ORDER BY n").status)
	require.Equal(t, 200, post("INSERT INTO t VALUES (1, 'a;b'), (2, 'c\n\nd');").status)
	require.Equal(t, 200, post("INSERT INTO t (s, n) FORMAT TSV\nx\t3\ny\t4\n").status)
	require.Equal(t, 200, post("INSERT INTO t SETTINGS async_insert = 0 FORMAT JSONEachRow {\"n\":5,\"s\":\"z\"}").status)
	require.Equal(t, 200, post("INSERT INTO t SELECT number + 6, 'w' FROM numbers(2)").status)
	require.Equal(t, 200, curl(t, addr, "INSERT INTO t FORMAT CSV", "8,q\n9,r\n", db...).status)
	require.Equal(t, "9\t45\n", curl(t, addr, "SELECT count(), sum(n) FROM t", "", db...).body)
	require.Equal(t, "1\n", curl(t, addr, `SELECT count() FROM t WHERE s = 'c\n\nd'`, "", db...).body)
	require.Equal(t, 62, codeOf(post("INSERT INTO t FORMAT TSV SETTINGS async_insert = 0\n1\ta\n")))

	require.Equal(t, "Ok.\n", send(t, newRequest(t, http.MethodGet, addr, "/ping", nil)).body)
	require.Equal(t, "Ok.\n", send(t, newRequest(t, http.MethodGet, addr, "/", nil)).body)
	require.Equal(t, 404, send(t, newRequest(t, http.MethodGet, addr, "/play", nil)).status)
	require.Equal(t, 405, send(t, newRequest(t, http.MethodDelete, addr, "/", nil)).status)
}

func codeOf(a answer) int {
	var code int
	_, _ = fmt.Sscan(a.header.Get("X-ClickHouse-Exception-Code"), &code)
	return code
}

func newRequest(t *testing.T, method, addr, path string, body []byte) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, bytes.NewReader(body))
	require.NoError(t, err)
	return r
}

func TestGetIsReadOnly(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	for _, query := range []string{"CREATE TABLE default.g (x Int8) ENGINE = Memory", "DROP DATABASE default", "SET readonly = 0"} {
		require.Equal(t, 164, codeOf(curl(t, addr, query, "")), query)
		require.Equal(t, 164, codeOf(curl(t, addr, query, "", "readonly", "0")), query)
	}
}

// TestGetWritesNoFiles: INSERT INTO FUNCTION is no write in the engine's own readonly mode.
func TestGetWritesNoFiles(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	dir := t.TempDir()
	file := func(name string) string { return fmt.Sprintf("file('%s/%s', 'CSV', 'a Int8')", dir, name) }
	for i, query := range []string{
		"INSERT INTO FUNCTION %s SELECT 1",
		"INSERT INTO FUNCTION %s VALUES (1)",
		"INSERT INTO TABLE FUNCTION %s FORMAT CSV 1",
		"/* x */ insert // y\n into function %s select 1 settings readonly = 0",
		"EXPLAIN PIPELINE INSERT INTO FUNCTION %s SELECT 1",
		"SELECT 1 PARALLEL WITH INSERT INTO FUNCTION %s SELECT 1",
		"SELECT 1; INSERT INTO FUNCTION %s SELECT 1",
		"SELECT 1 // ' \n; INSERT INTO FUNCTION %s SELECT 1 -- '",
		"WITH 1 AS x INSERT INTO FUNCTION %s SELECT x",
	} {
		query = fmt.Sprintf(query, file(fmt.Sprint("f", i)))
		for _, params := range [][]string{nil, {"readonly", "0"}, {"readonly", "1"}, {"wait_end_of_query", "1"}, {"allow_experimental_parallel_with", "1"}} {
			a := curl(t, addr, query, "", params...)
			require.NotEqual(t, 200, a.status, query)
		}
		require.Contains(t, []int{62, 164}, codeOf(curl(t, addr, query, "")), query)
	}
	for i, query := range []string{
		"SELECT 1 INTO OUTFILE '%s'", "SELECT 1 // ' \n INTO OUTFILE '%s' -- '", "SELECT 1 /* /* */ ' */ INTO OUTFILE '%s' -- '",
		"CREATE TEMPORARY TABLE x ENGINE = File(CSV, '%s') AS SELECT 1",
	} {
		require.NotEqual(t, 200, curl(t, addr, fmt.Sprintf(query, fmt.Sprint(dir, "/o", i)), "").status, query)
	}
	// The setting does the same for POST, and nothing sets it back.
	session := []string{"session_id", t.Name()}
	require.Equal(t, 200, curl(t, addr, "", "SET readonly = 1", session...).status)
	for _, query := range []string{"SET readonly = 0", "SET readonly = DEFAULT", "SET `readonly` = DEFAULT", "SET max_threads = 1, readonly = DEFAULT", "INSERT INTO FUNCTION " + file("s") + " SELECT 1"} {
		require.Equal(t, 164, codeOf(curl(t, addr, "", query, session...)), query)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Equal(t, "1\n", curl(t, addr, "SELECT /* a ' */ 1 FORMAT TSV", "").body)
	require.Equal(t, 62, codeOf(curl(t, addr, "SELEKT 1", "")))
	require.NotContains(t, curl(t, addr, "SELEKT 1", "").body, "formatQuery")
	require.Equal(t, `a\\b`+"\n", curl(t, addr, `SELECT 'a\\b' AS x`, "").body, "what is checked is what is run")
}

func TestRefusals(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	// What a web page could send.
	for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		r := newRequest(t, http.MethodPost, addr, "/", []byte("SELECT 1"))
		r.Header.Set(header, value)
		require.Equal(t, 403, send(t, r).status, header)
	}
	r := newRequest(t, http.MethodPost, addr, "/", []byte("SELECT 1"))
	r.Host = "evil.example:8123"
	require.Equal(t, 403, send(t, r).status, "DNS rebinding")
	r = newRequest(t, http.MethodPost, addr, "/", []byte("SELECT 1"))
	r.Host = "localhost:8123"
	require.Equal(t, 200, send(t, r).status)

	require.Equal(t, 516, codeOf(curl(t, addr, "SELECT 1", "", "user", "alice")))
	require.Equal(t, 516, codeOf(curl(t, addr, "SELECT 1", "", "user", "default", "password", "x")))
	require.Equal(t, 200, curl(t, addr, "SELECT 1", "", "user", "default").status)
	require.Equal(t, 1, codeOf(curl(t, addr, "", "SELECT 1 INTO /**/ OUTFILE '/tmp/x'")))
	require.Equal(t, 1, codeOf(curl(t, addr, "", "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT CSV")))
	require.Equal(t, 271, codeOf(curl(t, addr, "SELECT 1", "no compressed block at all, to be sure of that", "decompress", "1")))
	require.Equal(t, 307, codeOf(curl(t, addr, "", "SELECT 1 -- "+strings.Repeat("x", 5<<20))))
}

// TestLongParameters: a URL carries as much as ClickHouse's may.
func TestLongParameters(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	ask := func(keys int) answer {
		list := "['" + strings.Repeat("So11111111111111111111111111111111111111112','", keys) + "']"
		return curl(t, addr, "", "SELECT length({keys:Array(String)})", "param_keys", list)
	}
	require.Equal(t, "4001\n", ask(4000).body)
	require.Equal(t, 431, ask(40_000).status)
}

func TestInsertSizeLimit(t *testing.T) {
	r := start(t, chengine.Config{}.WithMaxInsertBytes(1<<20))
	require.Equal(t, 200, curl(t, r.Addr(), "", "CREATE TABLE default.l (s String) ENGINE = MergeTree ORDER BY s").status)
	insert := "INSERT INTO default.l FORMAT TSV"
	require.Equal(t, 200, curl(t, r.Addr(), insert, strings.Repeat("x", 1<<20-1)+"\n").status)
	require.Equal(t, 413, curl(t, r.Addr(), insert, strings.Repeat("x", 1<<20)+"\n").status)
	require.Equal(t, 413, curl(t, r.Addr(), "", insert+"\n"+strings.Repeat("x", 6<<20)+"\n").status)
	bomb := &bytes.Buffer{}
	g := gzip.NewWriter(bomb)
	_, err := g.Write(bytes.Repeat([]byte("x"), 2<<20))
	require.NoError(t, err)
	require.NoError(t, g.Close())
	request := newRequest(t, http.MethodPost, r.Addr(), "/?query="+strings.ReplaceAll(insert, " ", "+"), bomb.Bytes())
	request.Header.Set("Content-Encoding", "gzip")
	require.Equal(t, 413, send(t, request).status)
	require.Equal(t, "1\n", curl(t, r.Addr(), "SELECT count() FROM default.l", "").body)
}

// TestLargeInlineInsert: data that stands behind the statement in one body, larger than a statement
// may be.
func TestLargeInlineInsert(t *testing.T) {
	conn, dsn := chtest.Start(t)
	database := dsn[strings.LastIndex(dsn, "/")+1:]
	run(t, conn, "CREATE TABLE big (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	var body strings.Builder
	body.WriteString("INSERT INTO big FORMAT TSV\n")
	for i := range 200000 {
		fmt.Fprintf(&body, "%d\t%s\n", i, strings.Repeat("y", 50))
	}
	require.Equal(t, 200, curl(t, chtest.Engine(t).Addr(), "", body.String(), "database", database).status)
	require.Equal(t, uint64(200000), one[uint64](t, conn, "SELECT count() FROM big WHERE length(s) = 50"))
}

func TestSelectFormatsAreWhole(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	// More rows than one block holds: a format with a frame must come once, a format without must
	// come whole.
	for format, lines := range map[string]int{"TSV": 200000, "TSVRaw": 200000, "TabSeparated": 200000, "CSV": 200000, "JSONEachRow": 200000, "TSVWithNames": 200001, "CSVWithNames": 200001} {
		for _, query := range []string{"SELECT number FROM numbers(200000) FORMAT " + format, "SELECT number FROM numbers(200000)"} {
			body := curl(t, addr, query, "", "default_format", format).body
			require.Equal(t, lines, strings.Count(body, "\n"), query+" "+format)
		}
	}
	require.Equal(t, 1, strings.Count(curl(t, addr, "SELECT number FROM numbers(200000) FORMAT JSON", "").body, `"meta"`))
	require.Len(t, curl(t, addr, "SELECT number FROM numbers(200000) FORMAT RowBinary", "").body, 1600000)
	require.Equal(t, "7\n", curl(t, addr, "WITH 3 AS a SELECT a + 4", "").body)
	require.Equal(t, "7\n", curl(t, addr, "(SELECT 7)", "").body)
}

func TestInsertsAreSynced(t *testing.T) {
	query := "SELECT value FROM system.merge_tree_settings WHERE name IN ('fsync_after_insert', 'fsync_part_directory', 'min_rows_to_fsync_after_merge')"
	require.Equal(t, "1\n1\n1\n", curl(t, chtest.Engine(t).Addr(), query, "").body)
	require.Equal(t, "0\n0\n0\n", curl(t, start(t, chengine.Config{NoSync: true}).Addr(), query, "").body)
}

// TestCapsReachTheEngine: what the configuration says must be what the engine uses.
func TestCapsReachTheEngine(t *testing.T) {
	r := start(t, chengine.Config{MaxMemoryBytes: 500 << 20, Threads: 1})
	server := curl(t, r.Addr(), "SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'", "").body
	require.Equal(t, "524288000\n", server)
	for range 9 {
		require.Equal(t, "1\t419430400\n", curl(t, r.Addr(), "SELECT getSetting('max_threads'), getSetting('max_memory_usage')", "").body)
		require.Equal(t, "2\t7\n", curl(t, r.Addr(), "SELECT getSetting('max_threads'), getSetting('max_memory_usage')", "", "max_threads", "2", "max_memory_usage", "7").body)
	}
}

// TestTheTimeZoneIsUTC: a text is the same time wherever the machine stands.
func TestTheTimeZoneIsUTC(t *testing.T) {
	t.Setenv("TZ", "Asia/Tokyo")
	r := start(t, chengine.Config{})
	require.Equal(t, "UTC\tUTC\t43200\n", curl(t, r.Addr(), "SELECT timezone(), serverTimezone(), toUnixTimestamp(toDateTime('1970-01-01 12:00:00'))", "").body)
}

func TestInsertWithParameters(t *testing.T) {
	conn, dsn := chtest.Start(t)
	database := dsn[strings.LastIndex(dsn, "/")+1:]
	run(t, conn, "CREATE TABLE p (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
	a := curl(t, chtest.Engine(t).Addr(), "", "INSERT INTO p VALUES ({n:UInt64}, {s:String}), (2, upper({s:String}))", "database", database, "param_n", "1", "param_s", "abc")
	require.Equal(t, 200, a.status, a.body)
	require.Equal(t, "abc,ABC", one[string](t, conn, "SELECT arrayStringConcat(groupArray(s), ',') FROM (SELECT s FROM p ORDER BY n)"))
}
