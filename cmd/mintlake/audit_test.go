package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/enrich/audit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
	"github.com/mintlake/mintlake/testworld/layout"
)

func TestMain(m *testing.M) {
	decoder.MaybeRunChild()
	os.Exit(chtest.Main(m))
}

// serveMints is a JSON-RPC server on which every second account asked for is a mint of 6 decimals
// and the given supply; the others, its metadata, do not exist.
func serveMints(t *testing.T, slot, supply uint64) string {
	t.Helper()
	mint := layout.Mint{Supply: supply, Decimals: 6}
	server := httptest.NewServer(&jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
		"getMultipleAccounts": jsonrpc.MultipleAccounts(func(keys []pubkey.Key, part *jsonrpc.DataSlice) (uint64, []*jsonrpc.Account) {
			accounts := make([]*jsonrpc.Account, len(keys))
			for i := 0; i < len(keys); i += 2 {
				accounts[i] = jsonrpc.AccountOf(tokenaccount.ProgramToken, 1, mint.Bytes(), part)
			}
			return slot, accounts
		}),
	}})
	t.Cleanup(server.Close)
	return server.URL
}

// The command with a real ClickHouse and a JSON-RPC server: what it prints, and when it fails.
func TestAuditCommand(t *testing.T) {
	conn, dsn := chtest.Migrated(t)
	ctx := t.Context()
	require.NoError(t, conn.Exec(ctx, "INSERT INTO mintlake.slots_raw (slot, status) VALUES (100, 'ingested')"))
	mints := make([]string, 70)
	for i := range mints {
		mints[i] = base58.Encode(bytes.Repeat([]byte{byte(i) + 1}, 32))
	}
	require.NoError(t, conn.Exec(ctx, `INSERT INTO mintlake.tokens_raw (mint, decimals, supply, is_member, facts, row_version) SELECT arrayJoin(?), 6, 5, true,
		[(1, '', 1, ?), (2, '', 1, '6'), (3, '', 1, '5'), (5, '', 1, ''), (6, '', 1, '')], 1`, mints, schemas.ProgramToken))
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
