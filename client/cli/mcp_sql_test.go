package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// tables is a ClickHouse server whose user has these roles and settings. It answers as the server
// does over HTTP.
func tables(t *testing.T, role string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		query := string(body)
		user, password, _ := r.BasicAuth()
		switch {
		case user != "analyst" || password != "secret":
			http.Error(w, "Code: 516. DB::Exception: analyst: Authentication failed", http.StatusForbidden)
		case strings.Contains(query, "currentRoles()"):
			_, _ = io.WriteString(w, role)
		case strings.HasPrefix(query, "INSERT"):
			http.Error(w, "Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)", http.StatusInternalServerError)
		case strings.Contains(query, "repeat"):
			_, _ = io.WriteString(w, strings.Repeat("a", sqlBytes+1))
		default:
			for _, bound := range []string{"max_result_rows", "max_execution_time"} {
				if r.URL.Query().Get(bound) == "" {
					http.Error(w, "no bound "+bound, http.StatusInternalServerError)
				}
			}
			_, _ = io.WriteString(w, "{\"meta\":[],\n\t\"data\":[[\"USDC\\u0007\u202e\u200b\ufe0f\U000e0153\"]]}\n")
		}
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	u.User = url.User("analyst")
	return u.String()
}

func TestMCPAsksBySQLWhereAnAnalystMay(t *testing.T) {
	t.Setenv("MINTLAKE_SQL_PASSWORD", "secret")
	session, end := drive(t, "--url", canned(t).URL, "--sql-url", tables(t, "1\t2\n"))
	ask := func(sql string) (string, bool) {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "query_sql", Arguments: map[string]any{"sql": sql}})
		require.NoError(t, err)
		return result.Content[0].(*mcp.TextContent).Text, result.IsError
	}
	answer, failed := ask("SELECT symbol FROM tokens LIMIT 1")
	require.False(t, failed, answer)
	require.Equal(t, "{\"meta\":[],\n\t\"data\":[[\"USDC\\u0007\"]]}\n", answer, "characters that cannot be seen are left out")
	for sql, want := range map[string]string{"INSERT INTO tokens VALUES (1)": "READONLY", "SELECT repeat('a', 2000000)": "fewer rows"} {
		answer, failed = ask(sql)
		require.True(t, failed, sql)
		require.Contains(t, answer, want)
	}
	require.NoError(t, end())
}

// TestMCPHasNoSQLForOthers: neither who may write, nor the embedded engine, which has no users.
func TestMCPHasNoSQLForOthers(t *testing.T) {
	run := func(address string) error {
		root := &cobra.Command{Use: "mintlake", SilenceUsage: true, SilenceErrors: true}
		root.AddCommand(Commands("v1")...)
		root.SetIn(strings.NewReader(""))
		root.SetOut(io.Discard)
		root.SetArgs([]string{"mcp", "--url", canned(t).URL, "--sql-url", address})
		return root.ExecuteContext(t.Context())
	}
	t.Setenv("MINTLAKE_SQL_PASSWORD", "secret")
	for _, role := range []string{"0\t2\n", "1\t0\n", "0\t0\n", ""} {
		require.ErrorContains(t, run(tables(t, role)), "analyst.sql", "%q", role)
	}
	require.ErrorContains(t, run("http://127.0.0.1:8123"), "--sql-url: must be like")
	require.ErrorContains(t, run("ftp://analyst@127.0.0.1:8123"), "--sql-url: must be like")
	require.ErrorContains(t, run("http://analyst@127.0.0.1:1"), "no answer from ClickHouse at 127.0.0.1:1")
	t.Setenv("MINTLAKE_SQL_PASSWORD", "another")
	err := run(tables(t, "1\t2\n"))
	require.ErrorContains(t, err, "Authentication failed")
	require.NotContains(t, err.Error(), "another")
}
