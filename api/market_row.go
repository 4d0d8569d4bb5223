package api

import (
	"strconv"
	"time"

	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/replica"
)

// marketSize estimates how many bytes the market of a row takes.
const marketSize = 768

// marketFields are the members that appendMarket writes, in order. The parameter fields accepts
// each of these names.
var marketFields = []string{
	"price_usd", "price_at", "price_change_5m", "price_change_1h", "price_change_6h", "price_change_24h", "price_since_24h", "market_cap_usd", "market_cap_withheld", "fdv_usd", "held_usd", "liquidity_usd", "liquidity_at", "volume_5m_usd", "volume_1h_usd", "volume_6h_usd", "volume_24h_usd",
	"organic_volume_usd", "trades_24h", "traders_24h", "pools", "first_pool_at", "as_of",
}

// appendMarket writes the figures of a token's market; null if m is nil. supply is in whole tokens.
func appendMarket(dst []byte, m *replica.Market, supply *float64) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	dst = jsonappend.Float(append(dst, `{"price_usd":`...), m.PriceUSD)
	dst = appendTime(append(dst, `,"price_at":`...), m.PriceAt)
	dst = jsonappend.Float(append(dst, `,"price_change_5m":`...), m.Change(replica.FiveMinutes))
	dst = jsonappend.Float(append(dst, `,"price_change_1h":`...), m.Change(replica.OneHour))
	dst = jsonappend.Float(append(dst, `,"price_change_6h":`...), m.Change(replica.SixHours))
	dst = jsonappend.Float(append(dst, `,"price_change_24h":`...), m.Change(replica.OneDay))
	dst = appendTime(append(dst, `,"price_since_24h":`...), m.Windows[replica.OneDay].PriceSince)
	dst = appendCap(dst, m, supply)
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

// appendCap writes the market cap, the reason if there is none, the price times the supply, and
// what the pools hold.
func appendCap(dst []byte, m *replica.Market, supply *float64) []byte {
	usd, why := m.Cap(supply)
	dst = jsonappend.Float(append(dst, `,"market_cap_usd":`...), usd)
	if dst = append(dst, `,"market_cap_withheld":`...); why == replica.WithheldNothing {
		dst = append(dst, "null"...)
	} else {
		dst = jsonappend.String(dst, string(why))
	}
	dst = jsonappend.Float(append(dst, `,"fdv_usd":`...), m.FullyDiluted(supply))
	return jsonappend.Float(append(dst, `,"held_usd":`...), m.HeldUSD)
}

// appendTime writes Unix milliseconds; null if at is nil.
func appendTime(dst []byte, at *time.Time) []byte {
	if at == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, at.UnixMilli(), 10)
}

// marketSorts returns the market's figures that tokens can be sorted by, by name: members of the
// row's market, those of its windows with the window in their names, and trending.
func marketSorts() map[string]func(m *replica.Market) *float64 {
	count := func(n uint64) *float64 {
		value := float64(n)
		return &value
	}
	sorts := map[string]func(m *replica.Market) *float64{
		"trending":           replica.Counting((*replica.Market).Trending),
		"price_usd":          func(m *replica.Market) *float64 { return m.PriceUSD },
		"market_cap_usd":     (*replica.Market).CapThen,
		"held_usd":           func(m *replica.Market) *float64 { return m.HeldUSD },
		"liquidity_usd":      func(m *replica.Market) *float64 { return m.LiquidityUSD },
		"organic_volume_usd": replica.Counting(func(m *replica.Market) *float64 { return m.OrganicUSD }),
		"pools":              func(m *replica.Market) *float64 { return count(m.Pools) },
		"first_pool_at": func(m *replica.Market) *float64 {
			if m.FirstPoolAt == nil {
				return nil
			}
			return count(uint64(max(0, m.FirstPoolAt.UnixMilli())))
		},
	}
	windowSorts(sorts)
	return sorts
}
