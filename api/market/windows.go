package market

import (
	"strings"

	"github.com/mintlake/mintlake/replica"
)

// windowColumns are the columns that windowTargets reads, in its order.
var windowColumns = func() string {
	var columns []string
	for i, name := range replica.WindowNames {
		before, trades, traders := "price_before_"+name+"_usd", "trades_"+name, "traders_"+name
		// These columns of the day are older than the windows, and have no window in their names.
		if i == replica.OneDay {
			before, trades, traders = "price_before_usd", "trades", "traders"
		}
		columns = append(columns, before, "price_since_"+name, trades, "buys_"+name, "toFloat64(bought_"+name+"_usd)", traders, "buyers_"+name, "sellers_"+name, "high_"+name+"_usd", "low_"+name+"_usd")
	}
	return strings.Join(columns, ", ")
}()

// windowTargets returns the targets of a Scan of windowColumns.
func windowTargets(m *replica.Market) (targets []any) {
	for i := range m.Windows {
		w := &m.Windows[i]
		targets = append(targets, &w.PriceBeforeUSD, &w.PriceSince, &w.Trades, &w.Buys, &w.BoughtUSD, &w.Traders, &w.Buyers, &w.Sellers, &w.HighUSD, &w.LowUSD)
	}
	return targets
}
