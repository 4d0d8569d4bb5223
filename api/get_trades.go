package api

import (
	"context"
	"math"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/trades"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// getTrades is GET /tokens/{mint}/trades: what was traded of a mint, newest first. It reads
// ClickHouse.
func (s *Server) getTrades(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return err
	}
	filter, err := queryTrades(c)
	if err != nil {
		return err
	}
	text, given, err := queryOnce(c, "before")
	if err != nil {
		return err
	}
	before, parseErr := trades.ParseCursor(text)
	if parseErr != nil || given && text == "" {
		return invalid("before", quoted(text), "must be next of an earlier page, or the id of a trade")
	}
	mint, err := s.marketMint(c, "trades are")
	if err != nil {
		return err
	}
	if s.deps.Trades == nil {
		return noMarket("trades are")
	}
	page, err := s.deps.Trades.Trades(context.WithoutCancel(c.UserContext()), mint, filter, before, int(limit))
	if err != nil {
		return s.marketError(err, "trades are")
	}
	return c.JSON(page)
}

// queryTrades reads the filters of trades.
func queryTrades(c *fiber.Ctx) (filter *trades.Filter, err error) {
	filter = new(trades.Filter)
	if filter.Pool, err = queryKey(c, "pool"); err != nil {
		return nil, err
	}
	if filter.Trader, err = queryKey(c, "trader"); err != nil {
		return nil, err
	}
	text, given, err := queryOnce(c, "side")
	if err != nil {
		return nil, err
	}
	if filter.Side = trades.Side(text); given && filter.Side != trades.Buy && filter.Side != trades.Sell {
		return nil, invalid("side", quoted(text), "must be buy or sell")
	}
	if filter.MinUSD, err = queryUSD(c, "min_value"); err != nil {
		return nil, err
	}
	for _, bound := range []struct {
		field string
		to    *time.Time
	}{{"from", &filter.From}, {"to", &filter.To}} {
		seconds, err := queryInteger(c, bound.field, 0, math.MaxUint32)
		if err != nil {
			return nil, err
		}
		if seconds > 0 {
			*bound.to = time.Unix(seconds, 0)
		}
	}
	return filter, nil
}

// queryKey reads a parameter that is an address. It returns nil if the parameter is absent.
func queryKey(c *fiber.Ctx, field string) (*pubkey.Key, error) {
	text, given, err := queryOnce(c, field)
	if err != nil || !given {
		return nil, err
	}
	key, parseErr := pubkey.Parse(text)
	if parseErr != nil {
		return nil, invalid(field, quoted(text), "must be an address: 32 bytes in base58")
	}
	return &key, nil
}
