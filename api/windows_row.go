package api

import (
	"strconv"

	"github.com/mintlake/mintlake/internal/jsonappend"
	"github.com/mintlake/mintlake/replica"
)

// windowsSize estimates how many bytes the windows of a row take.
const windowsSize = 1_400

// appendWindows writes the figures of each window of a market; null if m is nil.
func appendWindows(dst []byte, m *replica.Market) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	for i, name := range replica.WindowNames {
		w := &m.Windows[i]
		dst = append(appendName(dst, name), '{')
		for _, figure := range []struct {
			name  string
			value *float64
		}{
			{"price_change", m.Change(i)}, {"high_usd", w.HighUSD}, {"low_usd", w.LowUSD}, {"volume_usd", m.Volume(i)}, {"bought_usd", boughtOf(m, i)}, {"sold_usd", m.Sold(i)},
		} {
			dst = jsonappend.Float(appendName(dst, figure.name), figure.value)
		}
		dst = appendTime(appendName(dst, "price_since"), w.PriceSince)
		for _, figure := range []struct {
			name  string
			value uint64
		}{
			{"trades", w.Trades}, {"buys", w.Buys}, {"sells", w.Trades - w.Buys}, {"traders", w.Traders}, {"buyers", w.Buyers}, {"sellers", w.Sellers},
		} {
			dst = strconv.AppendUint(appendName(dst, figure.name), figure.value, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// boughtOf returns the value of a window's buys; nil if no leg of the window has a value.
func boughtOf(m *replica.Market, window int) *float64 {
	if m.Volume(window) == nil {
		return nil
	}
	return &m.Windows[window].BoughtUSD
}

// windowSorts adds the figures of each window to sorts.
func windowSorts(sorts map[string]func(m *replica.Market) *float64) {
	for i, name := range replica.WindowNames {
		count := func(of func(w *replica.Window) uint64) func(m *replica.Market) *float64 {
			return func(m *replica.Market) *float64 {
				value := float64(of(&m.Windows[i]))
				return &value
			}
		}
		sorts["price_change_"+name] = replica.Counting(func(m *replica.Market) *float64 { return m.Change(i) })
		sorts["price_drop_"+name] = replica.Counting(func(m *replica.Market) *float64 {
			change := m.Change(i)
			if change == nil {
				return nil
			}
			drop := -*change
			return &drop
		})
		sorts["volume_"+name+"_usd"] = func(m *replica.Market) *float64 { return m.Volume(i) }
		sorts["bought_"+name+"_usd"] = func(m *replica.Market) *float64 { return boughtOf(m, i) }
		sorts["sold_"+name+"_usd"] = func(m *replica.Market) *float64 { return m.Sold(i) }
		sorts["high_"+name+"_usd"] = func(m *replica.Market) *float64 { return m.Windows[i].HighUSD }
		sorts["low_"+name+"_usd"] = func(m *replica.Market) *float64 { return m.Windows[i].LowUSD }
		sorts["trades_"+name] = count(func(w *replica.Window) uint64 { return w.Trades })
		sorts["buys_"+name] = count(func(w *replica.Window) uint64 { return w.Buys })
		sorts["sells_"+name] = count(func(w *replica.Window) uint64 { return w.Trades - w.Buys })
		sorts["traders_"+name] = count(func(w *replica.Window) uint64 { return w.Traders })
		sorts["buyers_"+name] = count(func(w *replica.Window) uint64 { return w.Buyers })
		sorts["sellers_"+name] = count(func(w *replica.Window) uint64 { return w.Sellers })
	}
}
