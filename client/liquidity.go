package client

import (
	"context"

	"github.com/mintlake/mintlake/client/rest"
)

// LiquidityHistory is GET /tokens/{mint}/liquidity/history, oldest first.
func (c *Client) LiquidityHistory(ctx context.Context, mint string, params *rest.GetLiquidityHistoryParams) (*rest.LiquidityHistoryResponse, error) {
	answer, err := c.REST.GetLiquidityHistoryWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// PoolLiquidity is GET /pools/{pool}/liquidity: one page, newest first.
func (c *Client) PoolLiquidity(ctx context.Context, pool string, params *rest.GetPoolLiquidityParams) (*rest.PoolLiquidityResponse, error) {
	answer, err := c.REST.GetPoolLiquidityWithResponse(ctx, pool, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// PoolReserves is GET /pools/{pool}/liquidity/history, oldest first.
func (c *Client) PoolReserves(ctx context.Context, pool string, params *rest.GetPoolLiquidityHistoryParams) (*rest.PoolReservesResponse, error) {
	answer, err := c.REST.GetPoolLiquidityHistoryWithResponse(ctx, pool, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}
