package e2e

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// chainAccount is an account as the programs left it.
type chainAccount struct {
	Owner string `json:"owner"`
	Data  []byte `json:"data"`
}

// chainStep is a transaction, and what it left of the mints and metadata accounts that it changed.
type chainStep struct {
	Name        string                   `json:"name"`
	Mints       map[string]*chainAccount `json:"mints"`
	Transaction json.RawMessage          `json:"transaction"`
}

// metaplexChain is a chain on which the Metaplex program made tokens, collections and editions, and
// one of a kind was burned: its transactions, and the mints and metadata accounts that are left.
// The programs themselves ran it (tools/svm-fixtures).
func metaplexChain(t *testing.T) (transactions []json.RawMessage, left map[string]*chainAccount, burned string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "ingest/decode/testdata/svm/metaplex.json"))
	require.NoError(t, err)
	var chain struct {
		Names map[string]string `json:"names"`
		Steps []chainStep       `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(text, &chain))
	// Those before change the metadata of a token by instructions that do not name its mint: a
	// follower has to ask a node for it, and here is none.
	from := slices.IndexFunc(chain.Steps, func(step chainStep) bool { return step.Name == "CreateV1 of a fungible token, its mint too" })
	require.Positive(t, from)
	left = map[string]*chainAccount{}
	for _, step := range chain.Steps[from:] {
		transactions = append(transactions, step.Transaction)
		maps.Copy(left, step.Mints)
	}
	maps.DeleteFunc(left, func(_ string, account *chainAccount) bool { return account == nil })
	for address, name := range chain.Names {
		if name == "burned" {
			burned = address
		}
	}
	require.NotNil(t, left[burned], "its mint is left")
	require.Equal(t, make([]byte, 8), left[burned].Data[36:44], "without a supply")
	return transactions, left, burned
}

// accountsNode answers getProgramAccounts.
func accountsNode(t *testing.T, accounts map[string]*chainAccount) string {
	t.Helper()
	server := httptest.NewServer(&jsonrpc.Handler{Methods: map[string]jsonrpc.Method{
		"getProgramAccounts": jsonrpc.ProgramAccounts(func(program pubkey.Key, matches func([]byte) bool, part *jsonrpc.DataSlice) (uint64, []jsonrpc.Keyed) {
			found := []jsonrpc.Keyed{}
			for _, address := range slices.Sorted(maps.Keys(accounts)) {
				if account := accounts[address]; account.Owner == program.String() && matches(account.Data) {
					found = append(found, jsonrpc.Keyed{Pubkey: address, Account: jsonrpc.AccountOf(program, 1, account.Data, part)})
				}
			}
			return 400_001_000, found
		}),
	}})
	t.Cleanup(server.Close)
	return server.URL
}

// TestABurnedNonFungibleIsNobodysToken: who followed the chain and who read its accounts by
// bootstrap have one registry, also where a non-fungible token was burned: no account says any more
// what that mint was.
func TestABurnedNonFungibleIsNobodysToken(t *testing.T) {
	t.Parallel()
	transactions, left, burned := metaplexChain(t)
	folder := t.TempDir()
	text, err := json.Marshal(transactions)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "transactions.json"), text, 0o600))

	follower := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "file:"+folder, "--rooms", "ingest")...)
	require.Eventually(t, func() bool { return strings.Contains(follower.log(), "source is done") }, hang, 50*time.Millisecond)
	reader := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "none", "--rooms", "projector")...)
	mustRun(t, reader.command(t.TempDir(), "bootstrap", "rpc", "--cuts", "0", "--rpc-upstream", accountsNode(t, left)))

	root := follower.rootOfLog()
	require.Regexp(t, `^tokens=2 `, root, "the two that are fungible")
	require.Equal(t, root, reader.rootOfLog())
	require.Empty(t, slices.DeleteFunc(reader.registry()["tokens"], func(row string) bool { return !strings.Contains(row, burned) }))
}
