package clickhouse_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

var (
	sqlComment = regexp.MustCompile(`(?m)^--.*\n`)
	dictionary = regexp.MustCompile(`(?s)CREATE OR REPLACE DICTIONARY .*?;\n`)
)

// TestAnalystSQLParses has the embedded engine, which has no users, parse what
// deploy/clickhouse/analyst.sql says to a server.
func TestAnalystSQLParses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "deploy/clickhouse/analyst.sql"))
	require.NoError(t, err)
	conn, _ := chtest.Start(t)
	kinds := make(map[string]bool)
	for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(string(text), ""), ";\n") {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		rows, err := conn.Query(t.Context(), "EXPLAIN AST "+statement)
		require.NoError(t, err, statement)
		require.True(t, rows.Next(), statement)
		var line string
		require.NoError(t, rows.Scan(&line))
		kinds[strings.Fields(line)[0]] = true
		require.NoError(t, rows.Close())
		if rest, ok := strings.CutPrefix(statement, "GRANT "); ok {
			require.Regexp(t, `^(SELECT ON mintlake\.(\*|tokens_raw)|dictGet ON mintlake\.token_names|mintlake_analyst) TO \w+$`, rest, "nothing else is granted")
		}
	}
	t.Log(kinds)
	require.GreaterOrEqual(t, len(kinds), 6, "profile, role, quota, user, grant, dictionary: %v", kinds)
	_, err = conn.Query(t.Context(), "EXPLAIN AST CREATE SETTINGS PROFILE OR REPLACE x SETTINGS readonly = 2 CONSTANTLY")
	require.Error(t, err, "a statement that is wrong does not parse")

	// The dictionary is that of the migration, with a user.
	files, err := filepath.Glob(filepath.Join(testkit.Root(t), "schemas/clickhouse/migrations/*.sql"))
	require.NoError(t, err)
	var latest string
	for _, file := range files {
		migration, err := os.ReadFile(file)
		require.NoError(t, err)
		if found := dictionary.FindString(string(migration)); found != "" {
			latest = found
		}
	}
	latest = strings.NewReplacer("{{.Database}}", "mintlake", " {{onCluster}}", "", "CLICKHOUSE(QUERY", "CLICKHOUSE(USER 'mintlake_dictionary' PASSWORD '' QUERY").Replace(latest)
	require.NotEmpty(t, latest)
	require.Equal(t, latest, dictionary.FindString(string(text)))
}
