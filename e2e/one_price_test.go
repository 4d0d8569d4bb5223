package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// requireOnePrice asks whatever tells the price of a token on a node where nothing changes any
// more: SQL, the API in each of its shapes, the command line, and the server for language models.
// The pages of the explorer are asked in tools/web, wallets and streams by the tests of the API.
func (i *instance) requireOnePrice(t *testing.T, mints ...string) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), binary, "mcp", "--url", i.addresses["api"])}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	for _, mint := range mints {
		stored := i.query("SELECT price_usd FROM mintlake.daily_volumes WHERE mint = '" + mint + "' FORMAT JSONCompactEachRow")
		require.Len(t, stored, 1, mint)
		var price []float64
		require.NoError(t, json.Unmarshal([]byte(stored[0]), &price), stored[0])
		require.Positive(t, price[0])
		told := map[string]any{}
		note := func(where string, body []byte, path ...string) {
			t.Helper()
			var value any
			require.NoError(t, json.Unmarshal(body, &value), "%s: %s", where, body)
			for _, name := range path {
				if list, is := value.([]any); is {
					require.NotEmpty(t, list, where)
					value = list[0]
				}
				value = value.(map[string]any)[name]
			}
			told[where] = value
		}
		ask := func(where, path string, members ...string) {
			t.Helper()
			code, body := i.get(path)
			require.Equal(t, http.StatusOK, code, "%s: %s", path, body)
			note(where, body, members...)
		}
		ask("a lookup's market", "/tokens/"+mint+"?market=true", "market", "price_usd")
		ask("a lookup's figure", "/tokens/"+mint+"?fields=price_usd", "price_usd")
		ask("a search", "/tokens?market=true&q="+mint, "items", "market", "price_usd")
		ask("a search by figure", fmt.Sprintf("/tokens?fields=price_usd&sort=price_usd&q=%s&min=price_usd:%v&max=price_usd:%v", mint, price[0], price[0]), "items", "price_usd")
		ask("v2", "/tokens/v2/search?query="+mint, "usdPrice")
		code, body := send(t.Context(), http.MethodPost, i.addresses["api"]+"/tokens/batch?fields=price_usd", `{"mints":["`+mint+`"]}`)
		require.Equal(t, http.StatusOK, code, body)
		note("a batch", body, "items", "price_usd")
		for where, args := range map[string]string{"tokens get": "tokens get " + mint, "tokens search": "tokens search --limit 1 " + mint} {
			out, err := exec.CommandContext(t.Context(), binary, append(strings.Fields(args), "--json", "--url", i.addresses["api"])...).Output()
			require.NoError(t, err, where)
			if where == "tokens get" {
				note(where, out, "market", "price_usd")
			} else {
				note(where, out, "items", "market", "price_usd")
			}
		}
		for tool, call := range map[string]struct {
			args any
			path []string
		}{
			"get_token":     {map[string]any{"mint": mint}, []string{"market", "price_usd"}},
			"get_tokens":    {map[string]any{"mints": []string{mint}}, []string{"items", "price_usd"}},
			"search_tokens": {map[string]any{"query": mint}, []string{"items", "price_usd"}},
		} {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: call.args})
			require.NoError(t, err, tool)
			text, _ := result.Content[0].(*mcp.TextContent)
			require.False(t, result.IsError, "%s: %s", tool, text.Text)
			note(tool, []byte(text.Text), call.path...)
		}
		require.Len(t, told, 11)
		for where, got := range told {
			require.Equal(t, price[0], got, "%s says another price of %s than SQL", where, mint)
		}
	}
}
