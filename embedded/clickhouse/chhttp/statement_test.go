package chhttp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseInsert(t *testing.T) {
	for _, c := range []struct{ query, format, data, rewritten string }{
		{"INSERT INTO t VALUES (1)", "Values", " (1)", "INSERT INTO t @  FORMAT Values"},
		{"insert into t(a,b) values(1),(2)", "Values", "(1),(2)", "insert into t(a,b) @  FORMAT Values"},
		{"INSERT INTO d.t FORMAT Native\n\n\x00", "Native", "\n\x00", "INSERT INTO d.t @  FORMAT Native"},
		{"INSERT INTO `d`.\"t\" FORMAT CSV 1,2", "CSV", "1,2", "INSERT INTO `d`.\"t\" @  FORMAT CSV"},
		{"INSERT INTO t (a) SETTINGS x = 'FORMAT TSV', y = 2 FORMAT TSV\n1", "TSV", "1", "INSERT INTO t (a) @ SETTINGS x = 'FORMAT TSV', y = 2  FORMAT TSV"},
		{"/* INSERT */ -- VALUES\nINSERT INTO TABLE t FORMAT JSONEachRow {}", "JSONEachRow", "{}", "/* INSERT */ -- VALUES\nINSERT INTO TABLE t @  FORMAT JSONEachRow"},
		{"INSERT INTO FUNCTION null('x String') VALUES ('a')", "Values", " ('a')", "INSERT INTO FUNCTION null('x String') @  FORMAT Values"},
		{"INSERT INTO values VALUES (1)", "Values", " (1)", "INSERT INTO values @  FORMAT Values"},
		{"INSERT INTO table VALUES (1)", "Values", " (1)", "INSERT INTO table @  FORMAT Values"},
		{"INSERT INTO format FORMAT TSV\n1", "TSV", "1", "INSERT INTO format @  FORMAT TSV"},
		{"INSERT INTO t (`a'b`, \"VALUES\") VALUES (1)", "Values", " (1)", "INSERT INTO t (`a'b`, \"VALUES\") @  FORMAT Values"},
		{"INSERT t VALUES (1)", "Values", " (1)", "INSERT t @  FORMAT Values"},
		{"INSERT INTO t FORMAT TSV", "TSV", "", "INSERT INTO t @  FORMAT TSV"},
		{"INSERT INTO t FORMAT TSV;1", "TSV", "1", "INSERT INTO t @  FORMAT TSV"},
		{"INSERT INTO t (* EXCEPT(a)) FORMAT TSV\t\n1", "TSV", "1", "INSERT INTO t (* EXCEPT(a)) @  FORMAT TSV"},
	} {
		s := parse([]byte(c.query))
		require.Equal(t, kindInsert, s.kind, c.query)
		require.Equal(t, c.format, s.format, c.query)
		require.Equal(t, c.data, c.query[s.dataAt:], c.query)
		rewritten := strings.ReplaceAll(string(s.withInfile([]byte(c.query), 7)), " FROM INFILE '/proc/self/fd/7' COMPRESSION 'none' ", "@ ")
		require.Equal(t, strings.ReplaceAll(c.rewritten, " @", "@"), strings.ReplaceAll(rewritten, " @", "@"), c.query)
	}
}

func TestParseKinds(t *testing.T) {
	for query, want := range map[string]statement{
		"SELECT 1": {kind: kindSelect},
		" ( select 'FORMAT x' ) union all select 2 FORMAT CSV":                            {kind: kindSelect, format: "CSV"},
		"WITH 1 AS a SELECT a FORMAT JSON SETTINGS x = 1":                                 {kind: kindSelect, format: "JSON"},
		"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x":                              {kind: kindOther},
		"SELECT format('{}', 1) FROM (SELECT 1 FORMAT TSV)":                               {kind: kindSelect},
		"INSERT INTO t SELECT 1":                                                          {kind: kindOther},
		"INSERT INTO t (SELECT 'VALUES')":                                                 {kind: kindOther},
		"INSERT INTO t WITH 1 AS x SELECT x":                                              {kind: kindOther},
		"INSERT INTO t FROM INFILE 'f' FORMAT CSV":                                        {kind: kindOther, files: "INFILE", format: "CSV"},
		"SELECT 1 INTO -- x\n OUTFILE 'f'":                                                {kind: kindSelect, files: "OUTFILE"},
		"SELECT 'INTO OUTFILE', `INTO OUTFILE`, $$ INTO OUTFILE $$, $a$ INTO OUTFILE $a$": {kind: kindSelect},
		"SET a = 1, `b`='x = 1', c.d = 2":                                                 {kind: kindSet, settings: []string{"a", "b", "c", "d"}},
		"USE x":                                                                           {kind: kindUse},
		"SHOW TABLES FORMAT TSV":                                                          {kind: kindOther, format: "TSV"},
		"CREATE TEMPORARY TABLE t (a Int8)":                                               {kind: kindOther, temporary: true},
		"create /* a /* b */ c */ or replace // d\n temporary table t (a Int8)":           {kind: kindOther, temporary: true},
		"CREATE TABLE temporary (a Int8)":                                                 {kind: kindOther},
		"SELECT 1 // ' \n INTO OUTFILE 'x' -- '":                                          {kind: kindSelect, files: "OUTFILE"},
		"SELECT 1 /* /* */ ' */ INTO OUTFILE 'x' -- '":                                    {kind: kindSelect, files: "OUTFILE"},
		"SELECT “a' b”, ‘\" ’ INTO OUTFILE 'x'":                                           {kind: kindSelect, files: "OUTFILE"},
		"SELECT a$$b INTO OUTFILE 'x' -- $$":                                              {kind: kindSelect, files: "OUTFILE"},
		"SELECT 1\u00a0INTO\u00a0OUTFILE\u00a0'x'":                                        {kind: kindSelect, files: "OUTFILE"},
		"SET final, “limit” = 1":                                                          {kind: kindSet, settings: []string{"final", "limit"}},
		"CREATE TABLE insert (values Int8)":                                               {kind: kindOther},
		"SELECT format FROM t":                                                            {kind: kindSelect},
		"SELECT format, count() FROM t GROUP BY format ORDER BY 2":                        {kind: kindSelect},
		"SELECT format FROM t WHERE format LIKE 'a%' ORDER BY format DESC":                {kind: kindSelect},
		"SELECT CASE a WHEN 1 THEN format ELSE t.format END":                              {kind: kindSelect},
		"SELECT * FROM t ORDER BY format FORMAT CSV; ":                                    {kind: kindSelect, format: "CSV"},
		"": {kind: kindOther},
	} {
		require.Equal(t, want, parse([]byte(query)), query)
	}
	require.True(t, parse([]byte("INSERT INTO t FORMAT TSV SETTINGS x = 1")).trailing)
	require.False(t, parse([]byte("INSERT INTO t FORMAT TSV\nSETTINGS\t1")).trailing)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "INSERT INTO t VALUES (1)", "INSERT INTO d.t (a, `b`) SETTINGS x='y' FORMAT Native\n\x00\n\n", "insert into function f('x') values",
		"INSERT INTO t SELECT 1", "SELECT 1 INTO OUTFILE 'x' FORMAT CSV", "SET a=1,b='2'", "/* */ -- \n# \n#!\n'\\", "`", "'\\", "\"\"\"", "$a$ $a$", "$$",
		"INSERT INTO t FORMAT", "INSERT INTO t FORMAT x;", "INSERT INTO t.", "WITH (INSERT) SELECT '", "INSERT INTO t/**/VALUES/*", "INSERT 1", "((((INSERT INTO t VALUES",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, query []byte) {
		before := bytes.Clone(query)
		s := parse(query)
		require.Equal(t, before, query, "the query is not touched")
		if s.kind != kindInsert {
			require.Zero(t, s.dataAt)
			return
		}
		require.LessOrEqual(t, 0, s.infileAt)
		require.LessOrEqual(t, s.infileAt, s.clauseAt)
		require.Less(t, s.clauseAt, s.dataAt)
		require.LessOrEqual(t, s.dataAt, len(query))
		require.NotEmpty(t, s.format)
		for _, c := range []byte(s.format) {
			require.True(t, isWordByte(c), "the format goes into SQL as it is")
		}
		rewritten := s.withInfile(query, 3)
		require.True(t, bytes.HasPrefix(rewritten, query[:s.infileAt]))
		// Data never gets into the statement that the engine runs, and what it does not see is not
		// more than blanks and the clause.
		require.LessOrEqual(t, len(rewritten), s.clauseAt+len(" FROM INFILE '/proc/self/fd/3' COMPRESSION 'none'  FORMAT ")+len(s.format))
		again := parse(append(bytes.Clone(query[:s.dataAt]), query[s.dataAt:]...))
		require.Equal(t, s, again)
		// The statement itself decides; another body behind a line break does not change it.
		if s.dataAt > 0 && query[s.dataAt-1] == '\n' {
			other := parse(append(bytes.Clone(query[:s.dataAt]), "'other (data"...))
			require.Equal(t, s, other)
		}
	})
}
