package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// blocksMarked are the blocks with a mark of each page of docs/.
func blocksMarked(t *testing.T, mark string) map[string][]string {
	t.Helper()
	pages := map[string][]string{}
	for _, page := range testkit.Pages(t) {
		for _, block := range testkit.Blocks(t, page) {
			if block.Mark == mark {
				pages[page] = append(pages[page], block.Text)
			}
		}
	}
	return pages
}

// elsewhere are pages whose blocks have tests of their own.
var elsewhere = map[string]string{
	"mcp.md": "mcpAnswers", "analytics.md": "TestAnalyticsQueriesAnswer", "gateway-reference.md": "stream.TestNotificationsOfThePage",
}

// shapesHold compares each JSON block of the pages with what the node answers: it has the same
// members, at any depth, and the same types.
func shapesHold(t *testing.T, up *instance) {
	answer := func(surface, path string, code int) any {
		status, body := patient(t.Context(), http.MethodGet, up.addresses[surface]+path, "")
		require.Equal(t, code, status, "%s: %s", path, body)
		return parsed(t, string(body))
	}
	quote := "/api/v2/quote?src_mint=" + mintSOL + "&dst_mint=" + mintUSDC + "&amount_in=1500000000&slippage_bps=50&user_account=4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS"
	refused := answer("api", "/tokens?limit=0", http.StatusBadRequest)
	real := map[string][]any{
		"api.md":  {refused},
		"apis.md": {refused},
		"swap.md": {answer("swap", quote, http.StatusOK)},
		"evidence.md": {func() any {
			page, _ := answer("api", "/tokens?q=usdc&limit=1&evidence=true&fields=mint,symbol,name,evidence", http.StatusOK).(map[string]any)
			items, _ := page["items"].([]any)
			require.NotEmpty(t, items)
			return items[0]
		}()},
		"gateway.md": append([]any{answer("stream", "/status", http.StatusOK)}, conversation(t, up)...),
	}
	seen := 0
	for page, blocks := range blocksMarked(t, "json") {
		if elsewhere[page] != "" {
			continue
		}
		var shown []any
		for _, block := range blocks {
			if page == "gateway.md" { // a message a line
				for line := range strings.Lines(block) {
					shown = append(shown, parsed(t, line))
				}
				continue
			}
			shown = append(shown, parsed(t, block))
		}
		require.Len(t, shown, len(real[page]), "the examples of %s", page)
		for i := range shown {
			seen++
			requireShape(t, shown[i], real[page][i], page)
		}
	}
	require.Greater(t, seen, 6)
	for _, page := range []string{"api.md", "apis.md"} {
		require.Equal(t, refused, parsed(t, blocksMarked(t, "json")[page][0]), "%s: the error is the very one", page)
	}
}

var left = regexp.MustCompile(`[\[{]…[\]}]`)

// parsed reads JSON in which a page may leave out members of a list or an object.
func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(left.ReplaceAllString(text, "null")), &value), text)
	return value
}

// requireShape compares members and types. What the page leaves out is null there; a list is as its
// first member.
func requireShape(t *testing.T, shown, real any, where string) {
	t.Helper()
	// A transaction's version is a number, or "legacy".
	if shown == nil || real == nil || strings.HasSuffix(where, ".transaction.version") {
		return
	}
	require.IsType(t, real, shown, where)
	switch s := shown.(type) {
	case map[string]any:
		r, _ := real.(map[string]any)
		for name := range s {
			require.Contains(t, r, name, "%s: the node does not say it", where)
		}
		for name, value := range r {
			require.Contains(t, s, name, "%s: the page does not say it", where)
			requireShape(t, s[name], value, where+"."+name)
		}
	case []any:
		if r, _ := real.([]any); len(s) > 0 && len(r) > 0 {
			requireShape(t, s[0], r[0], where+"[]")
		}
	}
}

// conversation is a subscription over the stream's WebSocket: what is sent and what comes, as the
// page shows it.
func conversation(t *testing.T, up *instance) (messages []any) {
	t.Helper()
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(up.addresses["stream"], "http://", "ws://", 1), nil)
	require.NoError(t, err)
	defer socket.CloseNow()
	socket.SetReadLimit(1 << 20)
	sent := []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"vote":false,"failed":false,"accountInclude":[%q]},{"maxSupportedTransactionVersion":1}]}`, mintSOL),
		`{"jsonrpc":"2.0","id":2,"method":"transactionUnsubscribe","params":[1]}`,
	}
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(sent[0])))
	messages = append(messages, parsed(t, sent[0]))
	for len(messages) < 3 {
		_, message, err := socket.Read(t.Context())
		require.NoError(t, err)
		// On a busy machine the stream may say that it is late.
		if text := string(message); !strings.Contains(text, "statusNotification") && !strings.Contains(text, "gapNotification") {
			messages = append(messages, parsed(t, text))
		}
	}
	return append(messages, parsed(t, sent[1]))
}

// queriesRun runs the SQL of the pages but that of analytics.md, which has a test of its own.
func queriesRun(t *testing.T, up *instance) {
	ran := 0
	for page, blocks := range blocksMarked(t, "sql") {
		if elsewhere[page] != "" {
			continue
		}
		for _, block := range blocks {
			for query := range strings.SplitSeq(regexp.MustCompile(`(?m)^--.*$| -- .*$`).ReplaceAllString(block, ""), ";") {
				if strings.TrimSpace(query) != "" {
					ran++
					code, body := send(t.Context(), http.MethodPost, up.addresses["clickhouse"], query)
					require.Equal(t, http.StatusOK, code, "%s: %s: %s", page, query, body)
				}
			}
		}
	}
	require.Greater(t, ran, 3)
}

// mcpAnswers starts the server of docs/mcp.md as its settings say, by the official client.
func mcpAnswers(t *testing.T, up *instance) {
	var settings struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal([]byte(blocksMarked(t, "json")["mcp.md"][0]), &settings))
	server := settings.Servers["mintlake"]
	require.Equal(t, "mintlake", server.Command)
	for name, standard := range map[string]string{"api": "http://127.0.0.1:8080", "swap": "http://127.0.0.1:8081"} {
		address := slices.Index(server.Args, standard)
		require.Positive(t, address)
		server.Args[address] = up.addresses[name]
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), binary, server.Args...)}, nil)
	require.NoError(t, err)
	defer session.Close()
	for name, arguments := range map[string]map[string]any{
		"search_tokens": {"query": "usdc"}, "get_token": {"mint": mintUSDC}, "token_history": {"mint": mintUSDC}, "token_ohlcv": {"mint": mintUSDC, "interval": "1m"},
		"token_pools": {"mint": mintUSDC}, "liquidity_over_time": {"mint": mintUSDC}, "quote_swap": {"sell": mintSOL, "buy": mintUSDC, "whole_amount": "1.5"}, "coverage": {"mint": mintUSDC}, "registry_status": nil,
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err, name)
		text, _ := result.Content[0].(*mcp.TextContent)
		require.False(t, result.IsError, "%s: %s", name, text.Text)
		require.True(t, json.Valid([]byte(text.Text)), "%s: %s", name, text.Text)
	}
}
