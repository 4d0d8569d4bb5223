package replica

import (
	"math"
	"time"
)

// Market is what a mint was worth and how it was traded in the 24 hours of block time up to AsOf.
type Market struct {
	// PriceUSD is the latest price in the 24 hours, for a whole token; nil: no pool has one.
	PriceUSD *float64
	// PriceAt is the minute of PriceUSD.
	PriceAt *time.Time
	// LiquidityUSD is the value of the stables and SOL in the vaults of the mint's pools that
	// traded; nil: no leg shows a vault's balance.
	LiquidityUSD *float64
	// LiquidityAt is the block time of the latest leg that shows a vault's balance.
	LiquidityAt *time.Time
	// Volumes of the last 5 minutes, hour, 6 and 24 hours up to AsOf; nil: the mint was traded, but
	// no leg has a value in US dollars.
	Volume5mUSD, Volume1hUSD, Volume6hUSD, Volume24hUSD *float64
	// OrganicUSD is the volume that resists wash trading; nil: no leg has a value.
	OrganicUSD      *float64
	Trades, Traders uint64
	// Pools is the number of pools that hold the mint, traded or not.
	Pools uint64
	// FirstPoolAt is when the earliest of these pools was created; nil: that was not seen.
	FirstPoolAt *time.Time
	// AsOf is the highest block time that the valuation saw.
	AsOf time.Time

	// Windows are the figures of each window.
	Windows [windowCount]Window
	// HeldUSD is the value of the stables and SOL that the mint's pools held in at least three of
	// four hours of the 24 in which they traded; nil: no pool shows its balance in ten minutes or
	// more. docs/market-caps.md has the formula.
	HeldUSD *float64
	// Anchor says that the mint is SOL or a stable: others are priced by it.
	Anchor bool

	// feeBasisPoints is the transfer fee of a Token-2022 mint when the figures were set.
	feeBasisPoints uint16
	// supply is the supply in whole tokens at the time when the figures were set; nil: unknown.
	supply *float64
}

// hoursPerDay is the length of the longest window, in hours.
const hoursPerDay = 24

// Trending is the formula of docs/api-reference.md: the square root of organic volume times
// traders, times the ratio of the last hour's volume to the day's mean hourly volume. Nil if a part
// is unknown or 0.
func (m *Market) Trending() *float64 {
	if m.OrganicUSD == nil || m.Volume1hUSD == nil || m.Volume24hUSD == nil || *m.Volume24hUSD <= 0 {
		return nil
	}
	score := math.Sqrt(*m.OrganicUSD*float64(m.Traders)) * hoursPerDay * *m.Volume1hUSD / *m.Volume24hUSD
	if score <= 0 {
		return nil
	}
	return &score
}

// Market returns the market of a token by its row id; nil if it was not traded.
func (r *Replica) Market(id uint32) *Market { return r.store.volumes.of(id).market }

// Figure returns a function that takes a row id and returns a figure of that token's market, for
// search.Query.Figure. It uses the markets that are current when Figure is called. known is false
// if the token was not traded or figure returns nil.
func (r *Replica) Figure(figure func(m *Market) *float64) func(id uint32) (value float64, known bool) {
	current := r.store.volumes.current.Load()
	return func(id uint32) (float64, bool) {
		if current == nil {
			return 0, false
		}
		market := (*current)[id].market
		if market == nil {
			return 0, false
		}
		value := figure(market)
		if value == nil {
			return 0, false
		}
		return *value, true
	}
}

// setMint copies into m what the market cap of a member needs from the registry: the supply in
// whole tokens, nil if it is unknown, and the transfer fee.
func (r *Replica) setMint(number uint32, m *Market) {
	r.Row(number, func(row *Row) { m.supply, m.feeBasisPoints = row.Token.WholeSupply(), row.TransferFee })
}
