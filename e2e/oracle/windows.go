package oracle

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// window is what happened to a mint in one window. Nil: unknown.
type window struct {
	volume, before, high, low        *float64
	since                            *time.Time
	bought                           float64
	trades, buys                     uint64
	traders, buyers, sellers         map[string]bool
	change, boughtFigure, soldFigure *float64
}

// windowLengths are the windows by their names.
func windowLengths() map[string]time.Duration {
	return map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour, "6h": 6 * time.Hour, "24h": 24 * time.Hour}
}

// priceIn returns the first or the last price of a mint in (from, to].
type priceIn func(mint string, from, to time.Time, first bool) (price *float64, at *time.Time)

// windowsOf fills the windows of each row.
func (o *Oracle) windowsOf(rows map[string]*row, until time.Time, price priceIn) {
	byMint := map[string][]*leg{}
	for _, l := range o.newestFirst() {
		for _, mint := range l.mint {
			byMint[mint] = append(byMint[mint], l)
		}
	}
	for mint, r := range rows {
		minutes := candlesOf(byMint[mint], mint, "1m", false)
		r.windows = map[string]*window{}
		for name, length := range windowLengths() {
			from := until.Add(-length)
			w := &window{
				volume:  map[string]*float64{"5m": r.fiveMinutes, "1h": r.hour, "6h": r.sixHours, "24h": r.day}[name],
				traders: map[string]bool{}, buyers: map[string]bool{}, sellers: map[string]bool{},
			}
			for _, l := range byMint[mint] {
				if l.at.After(from) {
					w.add(l, mint)
				}
			}
			for i := range minutes {
				if time.Unix(minutes[i].Time, 0).After(from) {
					w.widen(&minutes[i])
				}
			}
			if w.before, _ = price(mint, from.Add(-24*time.Hour), from, false); w.before == nil {
				w.before, w.since = price(mint, from, until, true)
			}
			w.derive(r)
			r.windows[name] = w
		}
	}
}

// newestFirst are all legs.
func (o *Oracle) newestFirst() []*leg {
	legs := slices.Clone(o.legs)
	slices.SortFunc(legs, func(x, y *leg) int {
		if !x.at.Equal(y.at) {
			return y.at.Compare(x.at)
		}
		return slices.Compare(y.place[:], x.place[:])
	})
	return legs
}

func (w *window) add(l *leg, mint string) {
	w.trades++
	w.traders[l.trader] = true
	if l.mint[1] != mint {
		w.sellers[l.trader] = true
		return
	}
	w.buys++
	w.buyers[l.trader] = true
	if l.value != nil {
		w.bought += *l.value
	}
}

// widen widens the range of prices by a minute's.
func (w *window) widen(minute *candle) {
	if minute.High == nil {
		return
	}
	if w.high == nil {
		w.high, w.low = minute.High, minute.Low
	}
	w.high, w.low = new(max(*w.high, *minute.High)), new(min(*w.low, *minute.Low))
}

// derive computes what is made of other figures.
func (w *window) derive(r *row) {
	if r.price != nil && w.before != nil && *w.before > 0 && (w.since == nil || r.priceAt.After(*w.since)) {
		w.change = new((*r.price / *w.before - 1) * 100)
	}
	if w.volume != nil {
		w.boughtFigure, w.soldFigure = new(w.bought), new(max(0, *w.volume-w.bought))
	}
}

// figures adds what tokens can be sorted by.
func (w *window) figures(into map[string]*float64, name string, counts bool) {
	number := func(n int) *float64 { return new(float64(n)) }
	into["price_change_"+name], into["price_drop_"+name] = nil, nil
	if counts && w.change != nil {
		into["price_change_"+name], into["price_drop_"+name] = w.change, new(-*w.change)
	}
	into["volume_"+name+"_usd"], into["bought_"+name+"_usd"], into["sold_"+name+"_usd"] = w.volume, w.boughtFigure, w.soldFigure
	into["high_"+name+"_usd"], into["low_"+name+"_usd"] = w.high, w.low
	into["trades_"+name], into["buys_"+name], into["sells_"+name] = number(int(w.trades)), number(int(w.buys)), number(int(w.trades-w.buys))
	into["traders_"+name], into["buyers_"+name], into["sellers_"+name] = number(len(w.traders)), number(len(w.buyers)), number(len(w.sellers))
}

// windowAnswer is what the tests read of a window.
type windowAnswer struct {
	Change  *float64 `json:"price_change"`
	Since   *int64   `json:"price_since"`
	High    *float64 `json:"high_usd"`
	Low     *float64 `json:"low_usd"`
	Volume  *float64 `json:"volume_usd"`
	Bought  *float64 `json:"bought_usd"`
	Sold    *float64 `json:"sold_usd"`
	Trades  int      `json:"trades"`
	Buys    int      `json:"buys"`
	Sells   int      `json:"sells"`
	Traders int      `json:"traders"`
	Buyers  int      `json:"buyers"`
	Sellers int      `json:"sellers"`
}

// requireWindows compares the windows of a row.
func (r *row) requireWindows(t testing.TB, got map[string]windowAnswer, what string) {
	t.Helper()
	require.Len(t, got, len(r.windows), what)
	for name, w := range r.windows {
		g := got[name]
		what := what + " in " + name
		require.Equal(t, []int{int(w.trades), int(w.buys), int(w.trades - w.buys), len(w.traders), len(w.buyers), len(w.sellers)},
			[]int{g.Trades, g.Buys, g.Sells, g.Traders, g.Buyers, g.Sellers}, what)
		require.Equal(t, shown(w.since), shownMillis(g.Since), "price_since of %s", what)
		for figure, pair := range map[string][2]*float64{
			"price_change_24h": {w.change, g.Change}, "high_24h_usd": {w.high, g.High}, "low_24h_usd": {w.low, g.Low}, "volume_24h_usd": {w.volume, g.Volume},
			"bought_24h_usd": {w.boughtFigure, g.Bought}, "sold_24h_usd": {w.soldFigure, g.Sold},
		} {
			r.same(t, figure, pair[0], pair[1], what)
		}
	}
}
