package cli

import (
	"fmt"
	"strings"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// windowsOf returns the windows of a row, the shortest first, in the order of windowHeads.
func windowsOf(w *rest.Windows) []*rest.Window {
	return []*rest.Window{&w.N5M, &w.N1H, &w.N6H, &w.N24H}
}

// windowHeads are the heads of columns for the windows.
var windowHeads = []string{"5 M", "1 H", "6 H", "24 H"}

// windowFigures are the figures of a window by their names in the API. A name with a window in it
// is an order of a search, such as buyers_1h or sold_6h_usd.
var windowFigures = []struct {
	name string
	text func(w *rest.Window) string
}{
	{"price_change", func(w *rest.Window) string { return percent(w.PriceChange) }},
	{"high_usd", func(w *rest.Window) string { return dollars(w.HighUSD) }},
	{"low_usd", func(w *rest.Window) string { return dollars(w.LowUSD) }},
	{"volume_usd", func(w *rest.Window) string { return dollars(w.VolumeUSD) }},
	{"bought_usd", func(w *rest.Window) string { return dollars(w.BoughtUSD) }},
	{"sold_usd", func(w *rest.Window) string { return dollars(w.SoldUSD) }},
	{"trades", func(w *rest.Window) string { return terminal.Count(w.Trades) }},
	{"buys", func(w *rest.Window) string { return terminal.Count(w.Buys) }},
	{"sells", func(w *rest.Window) string { return terminal.Count(w.Sells) }},
	{"traders", func(w *rest.Window) string { return terminal.Count(w.Traders) }},
	{"buyers", func(w *rest.Window) string { return terminal.Count(w.Buyers) }},
	{"sellers", func(w *rest.Window) string { return terminal.Count(w.Sellers) }},
}

// percent formats a change in percent with its sign; "-" if it is unknown.
func percent(change *float64) string {
	if change == nil {
		return "-"
	}
	return fmt.Sprintf("%+.2f%%", *change)
}

// windowsTable returns a table with a row for each figure and a column for each window.
func windowsTable(all *rest.Windows) *terminal.Table {
	table := &terminal.Table{Head: append([]string{"LAST"}, windowHeads...), Right: map[int]bool{1: true, 2: true, 3: true, 4: true}}
	for _, figure := range windowFigures {
		cells := []terminal.Cell{{Text: strings.TrimSuffix(strings.TrimPrefix(figure.name, "price_"), "_usd"), Style: terminal.Dim}}
		for _, w := range windowsOf(all) {
			cells = append(cells, terminal.Cell{Text: figure.text(w)})
		}
		table.Row(cells...)
	}
	return table
}

// windowColumn returns the head of a column that shows what tokens are sorted by, and the function
// that makes its cells. ok is false if the order is not by a figure of a window. For price_drop the
// column shows the price change.
func windowColumn(sort string) (head string, cell func(row *rest.Token) string, ok bool) {
	sort = strings.Replace(sort, "price_drop", "price_change", 1)
	for i, window := range []string{"5m", "1h", "6h", "24h"} {
		for _, figure := range windowFigures {
			name, inUSD := strings.CutSuffix(figure.name, "_usd")
			if name += "_" + window; inUSD {
				name += "_usd"
			}
			if name != sort {
				continue
			}
			head = strings.ToUpper(strings.TrimSuffix(strings.TrimPrefix(figure.name, "price_"), "_usd")) + " " + windowHeads[i]
			return head, func(row *rest.Token) string {
				if row.Windows == nil {
					return "-"
				}
				return figure.text(windowsOf(row.Windows)[i])
			}, true
		}
	}
	return "", nil, false
}
