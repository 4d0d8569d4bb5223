package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/enrich/audit"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/decoder"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func TestMain(m *testing.M) {
	decoder.MaybeRunChild()
	os.Exit(chtest.Main(m))
}

// serveMints is a JSON-RPC server on which every second account asked for is a mint of 6 decimals
// and the given supply; the others, its metadata, do not exist.
func serveMints(t *testing.T, slot uint64, supply byte) string {
	t.Helper()
	data := make([]byte, 82)
	data[36], data[44], data[45] = supply, 6, 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage   `json:"id"`
			Params []json.RawMessage `json:"params"`
		}
		var keys []string
		if json.NewDecoder(r.Body).Decode(&call) != nil || json.Unmarshal(call.Params[0], &keys) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		values := make([]any, len(keys))
		for i := 0; i < len(keys); i += 2 {
			values[i] = map[string]any{
				"owner": schemas.ProgramToken, "lamports": 1, "executable": false, "data": []string{base64.StdEncoding.EncodeToString(data), "base64"},
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"jsonrpc": "2.0", "id": call.ID, "result": map[string]any{"context": map[string]any{"slot": slot}, "value": values},
		})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// The command with a real ClickHouse and a JSON-RPC server: what it prints, and when it fails.
func TestAuditCommand(t *testing.T) {
	conn, dsn := chtest.Start(t)
	ctx := t.Context()
	files, err := fs.Sub(schema.Migrations, "migrations")
	require.NoError(t, err)
	_, err = clickhouse.Migrate(ctx, conn, files, clickhouse.Options{Database: schema.Database})
	require.NoError(t, err)
	require.NoError(t, conn.Exec(ctx, "INSERT INTO mintlake.slots_raw (slot, status) VALUES (100, 'ingested')"))
	for i := range byte(70) {
		mint := base58.Encode(bytes.Repeat([]byte{i + 1}, 32))
		require.NoError(t, conn.Exec(ctx, `INSERT INTO mintlake.tokens_raw (mint, decimals, supply, is_member, facts, row_version) VALUES (?, 6, 5, true,
			[(1, '', 1, ?), (2, '', 1, '6'), (3, '', 1, '5'), (5, '', 1, ''), (6, '', 1, '')], 1)`, mint, schemas.ProgramToken))
	}
	run := func(url string, args ...string) (string, error) {
		cmd := auditCommand()
		cmd.SilenceUsage, cmd.SilenceErrors = true, true // as the root command has it
		cmd.Flags().String("config", "", "")
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs(append([]string{"--clickhouse-dsn", dsn, "--rpc-upstream", url}, args...))
		err := cmd.ExecuteContext(ctx)
		return out.String(), err
	}

	text, err := run(serveMints(t, 100, 5), "--min-accuracy", "1", "--min-known", "1")
	require.NoError(t, err, text)
	require.Regexp(t, `supply +70 +70 +0`, text)

	text, err = run(serveMints(t, 100, 6), "--min-accuracy", "0.9", "--json", "--sample", "60", "--rounds", "1", "--max-differences", "7")
	require.ErrorContains(t, err, "accuracy of supply is 0.000%")
	var report audit.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	require.Equal(t, 60, report.Sampled)
	require.Equal(t, 60, report.DifferencesTotal)
	require.Len(t, report.Differences, 7)
	require.Equal(t, []string{"5", "6"}, []string{report.Differences[0].Here, report.Differences[0].There})

	_, err = run(serveMints(t, 101, 5), "--wait", "1ms")
	require.ErrorIs(t, err, audit.ErrBehind)
	require.ErrorContains(t, err, "--wait 0")
	_, err = run(serveMints(t, 101, 5), "--wait", "0", "--min-accuracy", "1")
	require.NoError(t, err)
	_, err = run("", "--wait", "0")
	require.Error(t, err)
}
