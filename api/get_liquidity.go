package api

import (
	"context"
	"math"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// poolReservesResponse is the body of GET /pools/{pool}/liquidity/history.
type poolReservesResponse struct {
	Pool   pubkey.Key        `json:"pool"`
	Points []market.Reserves `json:"points"`
}

// liquidityResponse is the body of GET /tokens/{mint}/liquidity/history.
type liquidityResponse struct {
	Mint   pubkey.Key         `json:"mint"`
	Points []market.Liquidity `json:"points"`
}

// getPoolLiquidity is GET /pools/{pool}/liquidity: what was put into a pool and taken out, newest
// first. It reads ClickHouse.
func (s *Server) getPoolLiquidity(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return err
	}
	text, given, err := queryOnce(c, "before")
	if err != nil {
		return err
	}
	before, parseErr := market.ParseLiquidityCursor(text)
	if parseErr != nil || given && text == "" {
		return invalid("before", quoted(text), "must be next of an earlier page, or the id of a change")
	}
	pool, err := s.marketPool(c)
	if err != nil {
		return err
	}
	page, err := s.deps.Market.PoolLiquidity(context.WithoutCancel(c.UserContext()), pool, before, int(limit))
	if err != nil {
		return s.marketError(err, "liquidity is")
	}
	return c.JSON(page)
}

// getPoolLiquidityHistory is GET /pools/{pool}/liquidity/history: what a pool held by hour of block
// time. It reads ClickHouse.
func (s *Server) getPoolLiquidityHistory(c *fiber.Ctx) error {
	from, to, limit, err := queryHours(c)
	if err != nil {
		return err
	}
	pool, err := s.marketPool(c)
	if err != nil {
		return err
	}
	points, err := s.deps.Market.PoolReserves(context.WithoutCancel(c.UserContext()), pool, from, to, limit)
	if err != nil {
		return s.marketError(err, "liquidity is")
	}
	return c.JSON(poolReservesResponse{pool, points})
}

// getLiquidityHistory is GET /tokens/{mint}/liquidity/history: what the pools of a mint held in
// stables and SOL by hour of block time. It reads ClickHouse.
func (s *Server) getLiquidityHistory(c *fiber.Ctx) error {
	from, to, limit, err := queryHours(c)
	if err != nil {
		return err
	}
	mint, err := s.marketMint(c, "liquidity is")
	if err != nil {
		return err
	}
	points, err := s.deps.Market.MintLiquidity(context.WithoutCancel(c.UserContext()), mint, from, to, limit)
	if err != nil {
		return s.marketError(err, "liquidity is")
	}
	return c.JSON(liquidityResponse{mint, points})
}

// queryHours reads the hours that are asked for: the newest limit hours that begin at from or
// later, and before to. By default these are the newest defaultPoints hours.
func queryHours(c *fiber.Ctx) (from, to time.Time, limit int, err error) {
	most, err := queryInteger(c, "limit", defaultPoints, maxPoints)
	if err != nil {
		return from, to, 0, err
	}
	first, err := queryInteger(c, "from", 0, math.MaxUint32)
	if err != nil {
		return from, to, 0, err
	}
	end, err := queryInteger(c, "to", math.MaxUint32, math.MaxUint32)
	return time.Unix(first, 0), time.Unix(end, 0), int(most), err
}

// marketPool returns the pool that the path names. It is an error if that is no address, or if the
// node has no ClickHouse.
func (s *Server) marketPool(c *fiber.Ctx) (pubkey.Key, error) {
	text := pathText(c, "pool")
	pool, err := pubkey.Parse(text)
	switch {
	case err != nil:
		return pool, newError(fiber.StatusNotFound, "pool %s is no address", quoted(text))
	case s.deps.Market == nil:
		return pool, noMarket("liquidity is")
	}
	return pool, nil
}
