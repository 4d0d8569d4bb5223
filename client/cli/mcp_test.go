package cli

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// The official client drives the command over its standard input and output.
func TestMCPAnswersTheOfficialClient(t *testing.T) {
	node := canned(t)
	session, end := drive(t, "--url", node.URL, "--swap-url", node.URL)
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 10)
	for _, tool := range tools.Tools {
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
	}
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"search_tokens":   {map[string]any{"query": "usdc", "limit": 5}, impostor},
		"get_token":       {map[string]any{"mint": usdc}, "9876543210123456"},
		"token_history":   {map[string]any{"mint": usdc}, "initialize_mint"},
		"token_ohlcv":     {map[string]any{"mint": usdc, "interval": "1h"}, "volume_usd"},
		"token_trades":    {map[string]any{"mint": usdc, "side": "sell", "min_value": 5}, "raydium_cpmm"},
		"token_holders":   {map[string]any{"mint": usdc, "exclude": []string{"pool", "burn"}}, "share_pct"},
		"owner_tokens":    {map[string]any{"owner": wallet}, "value_usd"},
		"token_transfers": {map[string]any{"owner": wallet, "direction": "in"}, "from_owner"},
		"quote_swap":      {map[string]any{"sell": sol, "buy": usdc, "amount": "1500000000"}, "224683081"},
		"registry_status": {nil, "complete_to_slot"},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: c.args})
		require.NoError(t, err, name)
		require.False(t, result.IsError, name)
		require.Contains(t, result.Content[0].(*mcp.TextContent).Text, c.want, name)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_token", Arguments: map[string]any{"mint": usdc}})
	require.NoError(t, err)
	require.Contains(t, result.Content[0].(*mcp.TextContent).Text, `"price_usd":0.99987`)
	require.Contains(t, result.Content[0].(*mcp.TextContent).Text, `"list":"Curated"`)
	result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_token", Arguments: map[string]any{"mint": "nothing"}})
	require.NoError(t, err, "the model is told")
	require.True(t, result.IsError)
	require.Contains(t, result.Content[0].(*mcp.TextContent).Text, "not in the registry")
	require.NoError(t, end())
}

// drive starts the command and connects the official client to it. end stops it.
func drive(t *testing.T, args ...string) (session *mcp.ClientSession, end func() error) {
	t.Helper()
	in, toCommand := io.Pipe()
	fromCommand, out := io.Pipe()
	root := &cobra.Command{Use: "mintlake", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(Commands("v1")...)
	root.SetIn(in)
	root.SetOut(out)
	root.SetArgs(append([]string{"mcp"}, args...))
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- root.ExecuteContext(ctx) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromCommand, Writer: toCommand}, nil)
	require.NoError(t, err)
	return session, func() error {
		cancel()
		return errors.Join(toCommand.Close(), out.Close(), <-ended)
	}
}
