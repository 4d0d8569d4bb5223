package client

import (
	"context"

	"github.com/mintlake/mintlake/client/rest"
)

// LiquidityHistory is GET /tokens/{mint}/liquidity/history: what the pools of a mint held by hour,
// in US dollars, oldest first.
func (c *Client) LiquidityHistory(ctx context.Context, mint string, params *rest.GetLiquidityHistoryParams) (*rest.LiquidityHistoryResponse, error) {
	answer, err := c.REST.GetLiquidityHistoryWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// PoolLiquidity is GET /pools/{pool}/liquidity: one page of what was put into a pool and taken out,
// newest first.
func (c *Client) PoolLiquidity(ctx context.Context, pool string, params *rest.GetPoolLiquidityParams) (*rest.PoolLiquidityResponse, error) {
	answer, err := c.REST.GetPoolLiquidityWithResponse(ctx, pool, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// PoolReserves is GET /pools/{pool}/liquidity/history: what a pool held by hour, oldest first.
func (c *Client) PoolReserves(ctx context.Context, pool string, params *rest.GetPoolLiquidityHistoryParams) (*rest.PoolReservesResponse, error) {
	answer, err := c.REST.GetPoolLiquidityHistoryWithResponse(ctx, pool, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}
