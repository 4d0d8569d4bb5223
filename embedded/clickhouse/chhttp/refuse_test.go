package chhttp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckStop(t *testing.T) {
	for _, query := range []string{
		"SYSTEM SHUTDOWN", "system/**/shutdown", " -- x\n SYSTEM // y\n KILL", "SYSTEM SUSPEND FOR 5 SECOND", "EXECUTE AS default SYSTEM SHUTDOWN",
		"INSERT INTO t SELECT 1 PARALLEL WITH SYSTEM SHUTDOWN", "/* /* */ */ SYSTEM # a\nSHUTDOWN", "SELECT 1; SYSTEM SHUTDOWN", "EXPLAIN SYSTEM SHUTDOWN",
	} {
		require.Error(t, checkStop([]byte(query)), query)
	}
	for _, query := range []string{
		"SELECT 'SYSTEM SHUTDOWN'", "SELECT 1 -- SYSTEM SHUTDOWN", "SYSTEM FLUSH LOGS", "SELECT * FROM system.shutdown", "KILL QUERY WHERE 1", "SELECT $$ SYSTEM KILL $$",
	} {
		require.NoError(t, checkStop([]byte(query)), query)
	}
}

func TestCheckReads(t *testing.T) {
	for _, query := range []string{
		"SELECT 1", "WITH 1 AS a SELECT a", "SELECT 1\nUNION ALL\nSELECT 2", "SHOW TABLES", "DESCRIBE TABLE t", "EXISTS TABLE t", "EXPLAIN SELECT 1", "USE x",
		"SET max_threads = 1", "SELECT a FROM t GROUP BY parallel WITH TOTALS", "SELECT 'INSERT INTO OUTFILE'", "SELECT `INTO` OUTFILE FROM t",
	} {
		require.NoError(t, checkReads([]byte(query)), query)
	}
	for _, query := range []string{
		"INSERT INTO t SELECT 1", "CREATE TABLE t (a Int8)", "CREATE TEMPORARY TABLE t (a Int8)", "SELECT 1\nINTO OUTFILE 'x'", "EXPLAIN PIPELINE INSERT INTO t SELECT 1",
		"SELECT 1\nPARALLEL WITH\nINSERT INTO t SELECT 1", "SET readonly = DEFAULT", "SET `readonly` = 0, a = 1", "SYSTEM FLUSH LOGS", "", "KILL QUERY WHERE 1", "BACKUP TABLE t TO File('x')",
	} {
		require.Error(t, checkReads([]byte(query)), query)
	}
}
