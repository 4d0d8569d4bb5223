package cli

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client/rest"
)

// The arguments of the tools about markets.
type (
	tradesArgs struct {
		Mint   string  `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Limit  int32   `json:"limit,omitempty" jsonschema:"trades, 1 to 100; 20 by default"`
		Pool   string  `json:"pool,omitempty" jsonschema:"only trades on this pool, base58"`
		Trader string  `json:"trader,omitempty" jsonschema:"only trades of this wallet, base58"`
		Side   string  `json:"side,omitempty" jsonschema:"buy or sell; both by default"`
		MinUSD float64 `json:"min_value,omitempty" jsonschema:"only trades worth at least so many US dollars"`
		From   int64   `json:"from,omitempty" jsonschema:"only trades at or after this time, Unix seconds"`
		To     int64   `json:"to,omitempty" jsonschema:"only trades before this time, Unix seconds"`
		Before string  `json:"before,omitempty" jsonschema:"the next of the page before, for older trades"`
	}
	candlesArgs struct {
		Mint     string `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Interval string `json:"interval,omitempty" jsonschema:"1s (of the last hour), 1m, 5m, 15m, 1h (default), 4h, 1d or 1w"`
		Pool     string `json:"pool,omitempty" jsonschema:"only trades on this pool, base58"`
		In       string `json:"in,omitempty" jsonschema:"what prices are in: usd (default), or quote, the other mint of the pool"`
		Limit    int32  `json:"limit,omitempty" jsonschema:"candles, 1 to 500; 48 by default"`
		From     int64  `json:"from,omitempty" jsonschema:"only candles at or after this time, Unix seconds"`
		To       int64  `json:"to,omitempty" jsonschema:"only candles before this time, Unix seconds"`
	}
	poolsArgs struct {
		Mint  string `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Limit int32  `json:"limit,omitempty" jsonschema:"pools, 1 to 100; 20 by default"`
	}
)

// dropOfTrade are the members of a trade that are of no use to a model.
var dropOfTrade = []string{"id", "slot", "price"}

// addMarket adds the tools about what is traded.
func (a *ask) addMarket(server *mcp.Server) {
	tool(server, "token_ohlcv", "Candles of one token with volumes, oldest first, in US dollars or in the other mint of a pool.",
		func(ctx context.Context, in candlesArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint + "/ohlcv"
			return t.page(in.Limit, 48, 500, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetCandlesWithResponse(ctx, mint, &rest.GetCandlesParams{
					Limit: limit, Interval: given(rest.GetCandlesParamsInterval(in.Interval)), Pool: given(in.Pool), In: given(rest.GetCandlesParamsIn(in.In)), From: given(in.From), To: given(in.To),
				}))
			})
		})
	tool(server, "token_trades", "List the trades of one token, newest first: amounts (raw units), price and value in US dollars, trader, pool, aggregator, signature. A page may have fewer trades than asked for and still a next one.",
		func(ctx context.Context, in tradesArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint + "/trades"
			return t.page(in.Limit, 20, 100, dropOfTrade, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetTradesWithResponse(ctx, mint, &rest.GetTradesParams{
					Limit: limit, Pool: given(in.Pool), Trader: given(in.Trader), Side: given(rest.GetTradesParamsSide(in.Side)), MinValue: given(in.MinUSD),
					From: given(in.From), To: given(in.To), Before: given(in.Before),
				}))
			})
		})
	tool(server, "token_pools", "List the pools that hold one token, those that trade most first: venue, both mints, reserves (raw units), daily volume in US dollars.",
		func(ctx context.Context, in poolsArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint + "/pools"
			return t.page(in.Limit, 20, 100, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetPoolsWithResponse(ctx, mint, &rest.GetPoolsParams{Limit: limit}))
			})
		})
}
