package oracle

import (
	"slices"
	"time"
)

// held fills what the pools of each mint held in stables and SOL in three of four hours: the rule
// of docs/market-caps.md.
func (o *Oracle) held(rows map[string]*row, until time.Time, solPrice *float64) {
	type hour struct {
		pooled
		start time.Time
	}
	minutes := map[hour][][2]float64{}
	for _, m := range o.minutes() {
		if start := m.start.Truncate(time.Hour); m.stated != nil && start.After(until.Add(-24*time.Hour)) {
			key := hour{m.pooled, start}
			minutes[key] = append(minutes[key], m.reserve)
		}
	}
	hours, count := map[pooled][][2]float64{}, map[pooled]int{}
	for key, list := range minutes {
		hours[key.pooled] = append(hours[key.pooled], quartiles(list))
		count[key.pooled] += len(list)
	}
	for mint, r := range rows {
		var stable, lamports float64
		found := false
		for pool, list := range hours {
			if pool.a != mint && pool.b != mint || !Anchor(pool.a) && !Anchor(pool.b) || count[pool] < 10 {
				continue
			}
			found = true
			quartile := quartiles(list)
			for side, held := range []string{pool.a, pool.b} {
				switch {
				case stables[held]:
					stable += quartile[side]
				case held == sol:
					lamports += quartile[side]
				}
			}
		}
		if found && (lamports == 0 || solPrice != nil) {
			usd := stable / 1e6
			if lamports > 0 {
				usd += lamports * *solPrice
			}
			r.heldUSD = &usd
		}
	}
}

// quartiles is the first quartile of each side.
func quartiles(list [][2]float64) (quartile [2]float64) {
	for side := range quartile {
		var values []float64
		for _, pair := range list {
			values = append(values, pair[side])
		}
		slices.Sort(values)
		quartile[side] = values[len(values)/4]
	}
	return quartile
}

// cap is the market cap, or why there is none. fee is the transfer fee in basis points.
func (r *row) cap(mint string, fee int) (usd *float64, why string) {
	floor := r.floor(mint, fee)
	switch {
	case floor == "no_price":
		return nil, floor
	case r.whole == nil:
		return nil, "no_supply"
	case floor != "":
		return nil, floor
	case !Anchor(mint) && *r.price**r.whole > 1_000**r.heldUSD:
		return nil, "beyond_liquidity"
	}
	return new(*r.price * *r.whole), ""
}

// floor is why a market does not count in orders; empty: it does.
func (r *row) floor(mint string, fee int) string {
	switch {
	case r.price == nil:
		return "no_price"
	case Anchor(mint):
		return ""
	case fee > 1_000:
		return "transfer_fee"
	case r.heldUSD == nil || *r.heldUSD < 10_000:
		return "thin_liquidity"
	case len(r.traders) < 25:
		return "few_traders"
	}
	return ""
}
