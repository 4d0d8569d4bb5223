package bulk_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/testworld/bulk"
	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// TestAccountsSayTheirSpace: of every program, and under a filter that compares nothing at the
// field by which shards are cut.
func TestAccountsSayTheirSpace(t *testing.T) {
	const mints = 200
	server := httptest.NewServer(&bulk.Server{Chain: bulk.NewChain(mints, 5)})
	defer server.Close()
	total := 0
	for program, field := range map[string]string{schemas.ProgramToken: "4", schemas.ProgramToken2022: "4", schemas.ProgramMetaplex: "33"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"getProgramAccounts","params":["` + program +
			`",{"encoding":"base64","withContext":true,"filters":[{"memcmp":{"offset":` + field + `,"bytes":"","encoding":"base64"}}]}]}`
		response, err := http.Post(server.URL, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		var answer struct {
			Result struct {
				Context jsonrpc.Context `json:"context"`
				Value   []struct {
					Account struct {
						Data  [2]string `json:"data"`
						Space int       `json:"space"`
					} `json:"account"`
				} `json:"value"`
			} `json:"result"`
		}
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		require.NoError(t, response.Body.Close())
		require.Equal(t, jsonrpc.Context{APIVersion: jsonrpc.SolanaVersion, Slot: 5}, answer.Result.Context)
		require.NotEmpty(t, answer.Result.Value)
		for _, v := range answer.Result.Value {
			data, err := base64.StdEncoding.DecodeString(v.Account.Data[0])
			require.NoError(t, err)
			require.Len(t, data, v.Account.Space)
		}
		if program != schemas.ProgramMetaplex {
			total += len(answer.Result.Value)
		}
	}
	require.Equal(t, mints, total)
}
