package chengine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

// TestKillQuery: KILL QUERY ends a query by the id that system.processes tells, as the runbook of
// MintlakeClickHouseAway says. The id that its client gave it is not known.
func TestKillQuery(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	over := make(chan answer, 1)
	go func() {
		over <- curl(t, addr, "SELECT 'endless', max(number) FROM system.numbers", "", "query_id", "of-the-client")
	}()
	var id string
	require.Eventually(t, func() bool {
		id = strings.TrimSpace(curl(t, addr, "SELECT query_id FROM system.processes WHERE query LIKE 'SELECT ''endless''%'", "").body)
		return id != ""
	}, time.Minute, time.Millisecond)
	require.NotEqual(t, "of-the-client", id)
	a := curl(t, addr, "", "KILL QUERY WHERE query_id = 'of-the-client'")
	require.Equal(t, answer{200, "", a.header}, a)
	a = curl(t, addr, "", "KILL QUERY WHERE query_id = '"+id+"'")
	require.Equal(t, 200, a.status, a.body)
	require.Equal(t, 394, codeOf(<-over))
}

// TestAQueryKeepsTheTagThatKillsIt: a query cannot change log_comment, by which the pool kills it
// when its client goes away. A query that nothing can kill ends the whole engine.
func TestAQueryKeepsTheTagThatKillsIt(t *testing.T) {
	addr := chtest.Engine(t).Addr()
	require.Equal(t, 200, curl(t, addr, "", "CREATE TABLE default.tagged (log_comment String) ENGINE = Memory").status)
	for _, query := range []string{
		"SELECT 1 SETTINGS log_comment = 'mine'",
		"SELECT 1 FORMAT TSV SETTINGS max_threads = 1, `log_comment`='mine'",
		"SELECT 1 SETTINGS final, additional_table_filters = {'a': 'b = 1, c'}, log_comment = DEFAULT",
		"INSERT INTO default.tagged SETTINGS log_comment = 'mine' SELECT 'a'",
		"INSERT INTO default.tagged SETTINGS log_comment = 'mine' VALUES ('a')",
	} {
		a := curl(t, addr, "", query)
		require.Equal(t, 48, codeOf(a), "%s: %s", query, a.body)
		require.Contains(t, a.body, "log_comment", query)
	}
	for _, query := range []string{
		"SELECT 1 FROM default.tagged WHERE log_comment = 'x' SETTINGS max_threads = 1",
		"SELECT count() AS settings, log_comment = 'x' AS log_comment FROM default.tagged GROUP BY log_comment",
		"SELECT (SELECT 1 SETTINGS max_threads = 1), log_comment = 'x' FROM default.tagged",
		"INSERT INTO default.tagged VALUES ('SETTINGS log_comment = 1')",
		"SELECT 1 AS Settings, Settings AS s, log_comment = 'x' AS mine FROM default.tagged ORDER BY Settings DESC, log_comment = 'x'",
	} {
		a := curl(t, addr, "", query)
		require.Equal(t, 200, a.status, "%s: %s", query, a.body)
	}
}
