package replica

import (
	"math"
	"time"
)

// Market is what a mint was worth and how it was traded in the 24 hours of block time up to AsOf.
type Market struct {
	// PriceUSD is the latest price of the 24 hours for a whole token; nil: no pool says one.
	PriceUSD *float64
	// PriceAt is its minute.
	PriceAt *time.Time
	// PriceBeforeUSD is the price that held 24 hours before AsOf; nil: none did.
	PriceBeforeUSD *float64
	// LiquidityUSD is what the vaults of its pools that traded hold in stables and SOL; nil: no leg
	// says.
	LiquidityUSD *float64
	// LiquidityAt is the block time of the latest leg that says.
	LiquidityAt *time.Time
	// Volumes of the time up to AsOf; nil: it was traded, and no leg has a value.
	Volume5mUSD, Volume1hUSD, Volume6hUSD, Volume24hUSD *float64
	// OrganicUSD is the volume that resists wash trading; nil: no leg has a value.
	OrganicUSD      *float64
	Trades, Traders uint64
	// Pools are those that hold the mint, traded or not.
	Pools uint64
	// FirstPoolAt is when the earliest of them was created; nil: that was not seen.
	FirstPoolAt *time.Time
	// AsOf is the highest block time that the valuation saw.
	AsOf time.Time

	// supply, in whole tokens, is that of the time when the figures were exchanged; nil: unknown.
	supply *float64
}

// PriceChange is by how many percent the price changed in the 24 hours; nil where one of the two
// prices is missing.
func (m *Market) PriceChange() *float64 {
	if m.PriceUSD == nil || m.PriceBeforeUSD == nil || *m.PriceBeforeUSD <= 0 {
		return nil
	}
	percent := (*m.PriceUSD / *m.PriceBeforeUSD - 1) * 100
	return &percent
}

// Cap is the market capitalisation of a supply in whole tokens; nil without a price or a supply.
func (m *Market) Cap(supply *float64) *float64 {
	if m.PriceUSD == nil || supply == nil {
		return nil
	}
	usd := *m.PriceUSD * *supply
	return &usd
}

// CapThen is Cap of the supply when the figures were exchanged: what tokens are ordered by.
func (m *Market) CapThen() *float64 { return m.Cap(m.supply) }

// hoursOfDay are those of the longest window.
const hoursOfDay = 24

// Trending is the formula of docs/api.md: the square root of organic volume times traders, times
// how much faster the last hour was than an hour of the day in the mean. Nil where a part is
// unknown or 0.
func (m *Market) Trending() *float64 {
	if m.OrganicUSD == nil || m.Volume1hUSD == nil || m.Volume24hUSD == nil || *m.Volume24hUSD <= 0 {
		return nil
	}
	score := math.Sqrt(*m.OrganicUSD*float64(m.Traders)) * hoursOfDay * *m.Volume1hUSD / *m.Volume24hUSD
	if score <= 0 {
		return nil
	}
	return &score
}

// Market is what trading says of a token, by its number; nil where it was not traded.
func (r *Replica) Market(id uint32) *Market { return r.store.volumes.of(id).market }

// Figure says a figure of each token as it is now, by the token's number, for search.Query.Figure:
// known is false where the token was not traded or of returns nil.
func (r *Replica) Figure(of func(m *Market) *float64) func(id uint32) (value float64, known bool) {
	current := r.store.volumes.current.Load()
	return func(id uint32) (float64, bool) {
		if current == nil {
			return 0, false
		}
		market := (*current)[id].market
		if market == nil {
			return 0, false
		}
		value := of(market)
		if value == nil {
			return 0, false
		}
		return *value, true
	}
}

// wholeSupply is a member's supply in whole tokens; nil where it is unknown.
func (s *store) wholeSupply(number uint32) (supply *float64) {
	s.row(number, func(row *Row) { supply = row.Token.WholeSupply() })
	return supply
}
