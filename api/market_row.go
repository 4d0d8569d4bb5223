package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/replica"
)

// marketSize estimates how many bytes the market of a row takes.
const marketSize = 512

// marketFields are the members that appendMarket writes, in order. The parameter fields accepts
// each of these names.
var marketFields = []string{
	"price_usd", "price_at", "price_change_24h", "market_cap_usd", "liquidity_usd", "liquidity_at", "volume_5m_usd", "volume_1h_usd", "volume_6h_usd", "volume_24h_usd",
	"organic_volume_usd", "trades_24h", "traders_24h", "pools", "first_pool_at", "as_of",
}

// appendMarket writes the figures of a token's market; null if m is nil. supply is in whole tokens.
func appendMarket(dst []byte, m *replica.Market, supply *float64) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	dst = jsonappend.Float(append(dst, `{"price_usd":`...), m.PriceUSD)
	dst = appendTime(append(dst, `,"price_at":`...), m.PriceAt)
	dst = jsonappend.Float(append(dst, `,"price_change_24h":`...), m.PriceChange())
	dst = jsonappend.Float(append(dst, `,"market_cap_usd":`...), m.Cap(supply))
	dst = jsonappend.Float(append(dst, `,"liquidity_usd":`...), m.LiquidityUSD)
	dst = appendTime(append(dst, `,"liquidity_at":`...), m.LiquidityAt)
	dst = jsonappend.Float(append(dst, `,"volume_5m_usd":`...), m.Volume5mUSD)
	dst = jsonappend.Float(append(dst, `,"volume_1h_usd":`...), m.Volume1hUSD)
	dst = jsonappend.Float(append(dst, `,"volume_6h_usd":`...), m.Volume6hUSD)
	dst = jsonappend.Float(append(dst, `,"volume_24h_usd":`...), m.Volume24hUSD)
	dst = jsonappend.Float(append(dst, `,"organic_volume_usd":`...), m.OrganicUSD)
	dst = strconv.AppendUint(append(dst, `,"trades_24h":`...), m.Trades, 10)
	dst = strconv.AppendUint(append(dst, `,"traders_24h":`...), m.Traders, 10)
	dst = strconv.AppendUint(append(dst, `,"pools":`...), m.Pools, 10)
	dst = appendTime(append(dst, `,"first_pool_at":`...), m.FirstPoolAt)
	dst = strconv.AppendInt(append(dst, `,"as_of":`...), m.AsOf.UnixMilli(), 10)
	return append(dst, '}')
}

// appendTime writes Unix milliseconds; null if at is nil.
func appendTime(dst []byte, at *time.Time) []byte {
	if at == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, at.UnixMilli(), 10)
}

// marketSorts are the market's figures that tokens can be sorted by, by name: members of the row's
// market, and trending.
func marketSorts() map[string]func(m *replica.Market) *float64 {
	count := func(n uint64) *float64 {
		value := float64(n)
		return &value
	}
	return map[string]func(m *replica.Market) *float64{
		"trending":           (*replica.Market).Trending,
		"price_usd":          func(m *replica.Market) *float64 { return m.PriceUSD },
		"price_change_24h":   (*replica.Market).PriceChange,
		"market_cap_usd":     (*replica.Market).CapThen,
		"liquidity_usd":      func(m *replica.Market) *float64 { return m.LiquidityUSD },
		"volume_5m_usd":      func(m *replica.Market) *float64 { return m.Volume5mUSD },
		"volume_1h_usd":      func(m *replica.Market) *float64 { return m.Volume1hUSD },
		"volume_6h_usd":      func(m *replica.Market) *float64 { return m.Volume6hUSD },
		"volume_24h_usd":     func(m *replica.Market) *float64 { return m.Volume24hUSD },
		"organic_volume_usd": func(m *replica.Market) *float64 { return m.OrganicUSD },
		"trades_24h":         func(m *replica.Market) *float64 { return count(m.Trades) },
		"traders_24h":        func(m *replica.Market) *float64 { return count(m.Traders) },
		"pools":              func(m *replica.Market) *float64 { return count(m.Pools) },
		"first_pool_at": func(m *replica.Market) *float64 {
			if m.FirstPoolAt == nil {
				return nil
			}
			return count(uint64(max(0, m.FirstPoolAt.Unix())))
		},
	}
}

// queryLiquidity reads min_liquidity and returns the filter; nil without the parameter. A token of
// unknown liquidity does not pass.
func (s *Server) queryLiquidity(c *fiber.Ctx) (func(id uint32) bool, error) {
	least, err := queryUSD(c, "min_liquidity")
	if err != nil || least == nil {
		return nil, err
	}
	liquidity := s.replica.Figure(func(m *replica.Market) *float64 { return m.LiquidityUSD })
	return func(id uint32) bool {
		usd, known := liquidity(id)
		return known && usd >= *least
	}, nil
}
