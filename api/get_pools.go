package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// poolsResponse is the body of GET /tokens/{mint}/pools.
type poolsResponse struct {
	Mint  pubkey.Key    `json:"mint"`
	Pools []market.Pool `json:"pools"`
}

// getPools is GET /tokens/{mint}/pools: the pools that hold a mint, those that trade most first. It
// reads ClickHouse.
func (s *Server) getPools(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return err
	}
	mint, err := s.marketMint(c, "pools are")
	if err != nil {
		return err
	}
	pools, err := s.deps.Market.Pools(context.WithoutCancel(c.UserContext()), mint, int(limit))
	if err != nil {
		return s.marketError(err, "pools are")
	}
	return c.JSON(poolsResponse{mint, pools})
}
