package replica

import "time"

// Windows are the spans of time for which a Market has figures, the shortest first. Each ends at
// Market.AsOf. The constants are indexes of Market.Windows.
const (
	FiveMinutes = iota
	OneHour
	SixHours
	OneDay
	windowCount
)

// WindowNames has the part of a figure's name that stands for its window, such as 5m.
var WindowNames = [windowCount]string{"5m", "1h", "6h", "24h"}

// Window is what happened to a mint in one window.
type Window struct {
	// PriceBeforeUSD is the price that the change is measured against: the one that held at the
	// start of the window, or else the first in it; nil: neither.
	PriceBeforeUSD *float64
	// PriceSince is the minute of PriceBeforeUSD if it is the first in the window; else nil.
	PriceSince *time.Time
	// Trades is the number of legs. Buys is the number of legs in which the trader got the mint,
	// and BoughtUSD is the value of these legs.
	Trades, Buys uint64
	BoughtUSD    float64
	// Traders, Buyers and Sellers are numbers of distinct wallets: in all legs, in those of Buys,
	// and in the other legs.
	Traders, Buyers, Sellers uint64
	// HighUSD and LowUSD are the highest and the lowest price of the whole minutes in the window;
	// nil: no leg has a price.
	HighUSD, LowUSD *float64
}

// Volume is the volume of a window in US dollars; nil: the mint was traded, but no leg has a value.
func (m *Market) Volume(window int) *float64 {
	return [windowCount]*float64{m.Volume5mUSD, m.Volume1hUSD, m.Volume6hUSD, m.Volume24hUSD}[window]
}

// Sold is the value of the legs of a window in which the trader gave the mint; nil as for Volume.
func (m *Market) Sold(window int) *float64 {
	volume := m.Volume(window)
	if volume == nil {
		return nil
	}
	usd := max(0, *volume-m.Windows[window].BoughtUSD)
	return &usd
}

// Change is by how many percent the price changed in a window; nil if one of the two prices is
// missing, if both are prices of the same minute, or if the earlier one is 0.
func (m *Market) Change(window int) *float64 {
	before, since := m.Windows[window].PriceBeforeUSD, m.Windows[window].PriceSince
	if m.PriceUSD == nil || before == nil || *before <= 0 || since != nil && m.PriceAt != nil && !since.Before(*m.PriceAt) {
		return nil
	}
	percent := (*m.PriceUSD / *before - 1) * 100
	return &percent
}
