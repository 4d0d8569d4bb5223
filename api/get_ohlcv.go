package api

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Bounds of GET /tokens/{mint}/ohlcv.
const (
	defaultCandles = 100
	maxCandles     = 1_000
)

// candlesResponse is the body of GET /tokens/{mint}/ohlcv.
type candlesResponse struct {
	Mint     pubkey.Key      `json:"mint"`
	Interval market.Interval `json:"interval"`
	In       market.Unit     `json:"in"`
	// Pool is nil if the trades of all pools count.
	Pool      *string         `json:"pool"`
	QuoteMint *string         `json:"quote_mint"`
	Candles   []market.Candle `json:"candles"`
}

// getCandles is GET /tokens/{mint}/ohlcv: prices and volumes by intervals of block time. It reads
// ClickHouse.
func (s *Server) getCandles(c *fiber.Ctx) error {
	text, given, err := queryOnce(c, "interval")
	if err != nil {
		return err
	}
	if !given {
		text = string(market.Hour)
	}
	interval, parseErr := market.ParseInterval(text)
	if parseErr != nil {
		return invalid("interval", quoted(text), parseErr.Error())
	}
	limit, err := queryInteger(c, "limit", defaultCandles, maxCandles)
	if err != nil {
		return err
	}
	from, err := queryInteger(c, "from", 0, math.MaxUint32)
	if err != nil {
		return err
	}
	to, err := queryInteger(c, "to", math.MaxUint32, math.MaxUint32)
	if err != nil {
		return err
	}
	pool, err := queryKey(c, "pool")
	if err != nil {
		return err
	}
	unit, given, err := queryOnce(c, "in")
	if err != nil {
		return err
	}
	if !given {
		unit = string(market.USD)
	}
	if unit != string(market.USD) && unit != string(market.Quote) {
		return invalid("in", quoted(unit), "must be usd or quote")
	}
	mint, err := s.marketMint(c, "candles are")
	if err != nil {
		return err
	}
	answer, err := s.deps.Market.Candles(context.WithoutCancel(c.UserContext()), &market.CandleQuestion{
		Mint: mint, Interval: interval, From: time.Unix(from, 0), To: time.Unix(to, 0), Limit: int(limit), Pool: pool, In: market.Unit(unit),
	})
	if err != nil {
		return s.marketError(err, "candles are")
	}
	return c.JSON(candlesResponse{mint, interval, market.Unit(unit), answer.Pool, answer.QuoteMint, answer.Candles})
}

// marketMint returns the mint that the path names, for a request that ClickHouse answers. It is an
// error if the mint is not in the registry, or if the node has no ClickHouse. what is as in
// noMarket.
func (s *Server) marketMint(c *fiber.Ctx, what string) (pubkey.Key, error) {
	mint, err := pathKey(c)
	if err != nil {
		return mint, err
	}
	if s.replica.Lookup(mint) == nil {
		return mint, unknownMint(mint.String())
	}
	if s.deps.Market == nil {
		return mint, noMarket(what)
	}
	return mint, nil
}

// noMarket returns the answer for something that cannot be told now. what is the beginning of a
// sentence about it, such as "candles are".
func noMarket(what string) *Error {
	e := newError(fiber.StatusServiceUnavailable, "%s not available: ClickHouse does not answer, and nothing of it is kept in memory; try again later", what)
	e.headers = []string{fiber.HeaderRetryAfter, historyRetryAfter}
	return e
}

// marketError returns the answer to a question about swaps that failed with err; what is as in
// noMarket.
func (s *Server) marketError(err error, what string) error {
	if !errors.Is(err, clickhouse.ErrUnavailable) {
		return err
	}
	if s.historyLog.due(s.deps.Now()) {
		s.deps.Logger.Warn("candles, trades, pools and liquidity are not available", "err", err)
	}
	return noMarket(what)
}
