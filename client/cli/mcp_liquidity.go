package cli

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client/rest"
)

// The arguments of the tools about liquidity.
type (
	liquidityArgs struct {
		Mint  string `json:"mint,omitempty" jsonschema:"mint address, base58, or a symbol; needed without a pool"`
		Pool  string `json:"pool,omitempty" jsonschema:"address of a pool, base58; needed without a mint"`
		From  int64  `json:"from,omitempty" jsonschema:"only hours at or after this time, Unix seconds"`
		To    int64  `json:"to,omitempty" jsonschema:"only hours before this time, Unix seconds"`
		Limit int32  `json:"limit,omitempty" jsonschema:"hours, 1 to 500; 48 by default"`
	}
	poolArgs struct {
		Pool   string `json:"pool" jsonschema:"address of a pool, base58"`
		Limit  int32  `json:"limit,omitempty" jsonschema:"changes, 1 to 100; 20 by default"`
		Before string `json:"before,omitempty" jsonschema:"the next of the page before, for older changes"`
	}
)

// dropOfChange are the members of a change of liquidity that are of no use to a model.
var dropOfChange = []string{"id", "instruction"}

// addLiquidity adds the tools about liquidity.
func (a *ask) addLiquidity(server *mcp.Server) {
	tool(server, "liquidity_over_time", "Liquidity by the hour, oldest first: of a mint the US dollars that stand behind it in all its pools, of a pool both reserves (raw units).", a.liquidityTool)
	tool(server, "pool_liquidity_changes", "List what was put into a pool and taken out, newest first: kind, amounts (raw units), who did it, signature, and the reserves after it.",
		func(ctx context.Context, in poolArgs) (*told, error) {
			t := &told{more: "mintlake://pools/" + in.Pool + "/liquidity"}
			return t.page(in.Limit, 20, 100, dropOfChange, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetPoolLiquidityWithResponse(ctx, in.Pool, &rest.GetPoolLiquidityParams{Limit: limit, Before: given(in.Before)}))
			})
		})
}

// liquidityTool is the tool liquidity_over_time.
func (a *ask) liquidityTool(ctx context.Context, in liquidityArgs) (*told, error) {
	if (in.Mint == "") == (in.Pool == "") {
		return nil, errors.New("name a mint or a pool, and not both")
	}
	if in.Pool != "" {
		return (&told{}).page(in.Limit, 48, 500, nil, func(limit *int32) ([]byte, error) {
			return body(a.REST.GetPoolLiquidityHistoryWithResponse(ctx, in.Pool, &rest.GetPoolLiquidityHistoryParams{From: given(in.From), To: given(in.To), Limit: limit}))
		})
	}
	mint, t, err := a.mintOf(ctx, in.Mint)
	if err != nil {
		return nil, err
	}
	t.more = "mintlake://tokens/" + mint + "/liquidity"
	return t.page(in.Limit, 48, 500, nil, func(limit *int32) ([]byte, error) {
		return body(a.REST.GetLiquidityHistoryWithResponse(ctx, mint, &rest.GetLiquidityHistoryParams{From: given(in.From), To: given(in.To), Limit: limit}))
	})
}
