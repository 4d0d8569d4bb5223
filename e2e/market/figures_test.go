package market

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/replica"
)

// windows sums up the legs of each window.
func (o *oracle) windows(rows map[string]*row, until time.Time) {
	type sum struct{ usd, legs, priced float64 }
	of := func(mint string, window time.Duration) (s sum) {
		for _, l := range o.legs {
			if (l.mint[0] == mint || l.mint[1] == mint) && l.at.After(until.Add(-window)) {
				s.legs++
				if l.value != nil {
					s.priced, s.usd = s.priced+1, s.usd+*l.value
				}
			}
		}
		return s
	}
	for _, l := range o.legs {
		for _, mint := range l.mint {
			if !l.at.After(until.Add(-24 * time.Hour)) {
				continue
			}
			r := rows[mint]
			if r == nil {
				r = &row{traders: map[string]bool{}}
				rows[mint] = r
				for window, figure := range map[time.Duration]**float64{
					5 * time.Minute: &r.fiveMinutes, time.Hour: &r.hour, 6 * time.Hour: &r.sixHours, 24 * time.Hour: &r.day,
				} {
					if s := of(mint, window); s.legs == 0 || s.priced > 0 {
						*figure = &s.usd
					}
				}
			}
			r.trades++
			r.traders[l.trader] = true
			if l.at.After(r.last) {
				r.last = l.at
			}
		}
	}
}

// organic is of whole clock hours: what each trader's position changed by, bounded.
func (o *oracle) organic(rows map[string]*row, until time.Time) {
	type key struct {
		mint string
		hour time.Time
	}
	nets := map[key]map[string]float64{}
	for _, l := range o.legs {
		hour := l.at.Truncate(time.Hour)
		if !hour.After(until.Add(-24 * time.Hour)) {
			continue
		}
		for side, mint := range l.mint {
			k := key{mint, hour}
			if nets[k] == nil {
				nets[k] = map[string]float64{}
			}
			if l.value != nil {
				nets[k][l.trader] += *l.value * float64(1-2*side)
			}
		}
	}
	for _, r := range rows {
		if r.day != nil {
			r.organic = new(float64)
		}
	}
	for k, byTrader := range nets {
		r := rows[k.mint]
		if r == nil || r.organic == nil {
			continue
		}
		var all float64
		for _, net := range byTrader {
			all += math.Abs(net)
		}
		for _, net := range byTrader {
			*r.organic += min(math.Abs(net), max(1_000, all/10))
		}
	}
}

// pools says how many hold a mint, when the earliest was created, and what they hold of anchors.
func (o *oracle) pools(rows map[string]*row, day time.Time, solPrice *float64) {
	type state struct {
		first, created *creation
		last           *leg
	}
	states := map[pooled]*state{}
	see := func(key pooled, c creation) {
		s := states[key]
		if s == nil {
			s = new(state)
			states[key] = s
		}
		if s.first == nil || c.before(s.first.place) {
			s.first = &c
		}
		if c.created && (s.created == nil || c.before(s.created.place)) {
			s.created = &c
		}
	}
	for key, list := range o.creations {
		for _, c := range list {
			see(key, c)
		}
	}
	for _, l := range o.legs {
		see(l.pooled(), creation{place: l.place, at: l.at})
		if s := states[l.pooled()]; l.reserve != nil && (s.last == nil || s.last.before(l.place)) {
			s.last = l
		}
	}
	for mint, r := range rows {
		names := map[string]bool{}
		var first *state
		var firstName string
		var stable, lamports float64
		for key, s := range states {
			if key.a != mint && key.b != mint {
				continue
			}
			names[key.pool] = true
			if first == nil || s.first.before(first.first.place) || s.first.place == first.first.place && key.pool < firstName {
				first, firstName = s, key.pool
			}
			if s.last == nil || !s.last.at.After(day) || !anchor(key.a) && !anchor(key.b) {
				continue
			}
			if r.liquidAt == nil || s.last.at.After(*r.liquidAt) {
				r.liquidAt = &s.last.at
			}
			for side, held := range s.last.mint {
				switch {
				case stables[held]:
					stable += float64(s.last.reserve[side])
				case held == sol:
					lamports += float64(s.last.reserve[side])
				}
			}
		}
		r.pools = uint64(len(names))
		if first.created != nil {
			r.firstPool = &first.created.at
		}
		if r.liquidAt != nil && (lamports == 0 || solPrice != nil) {
			usd := stable / 1e6
			if lamports > 0 {
				usd += lamports * *solPrice
			}
			r.liquidity = &usd
		}
	}
}

// requireMarkets compares each figure. Sums of floats in another order differ in their last
// digits, and a leg by the millionth that it is rounded to.
func requireMarkets(t *testing.T, want map[string]*row, got map[string]replica.Volume, when string) {
	t.Helper()
	require.Len(t, got, len(want), when)
	for mint, w := range want {
		g, known := got[mint]
		require.True(t, known, "%s: %s", when, mint)
		m := g.Market
		slack := 3e-6 * float64(w.trades)
		var change *float64
		if w.price != nil && w.before != nil && *w.before > 0 {
			percent := (*w.price / *w.before - 1) * 100
			change = &percent
		}
		for name, pair := range map[string][2]*float64{
			"price_usd": {w.price, m.PriceUSD}, "price before": {w.before, m.PriceBeforeUSD}, "price_change_24h": {change, m.PriceChange()},
			"liquidity_usd": {w.liquidity, m.LiquidityUSD}, "volume_5m_usd": {w.fiveMinutes, m.Volume5mUSD}, "volume_1h_usd": {w.hour, m.Volume1hUSD},
			"volume_6h_usd": {w.sixHours, m.Volume6hUSD}, "volume_24h_usd": {w.day, m.Volume24hUSD}, "daily_volume_usd": {w.day, g.DailyUSD},
			"organic_volume_usd": {w.organic, m.OrganicUSD}, "rank": {w.organic, g.RankUSD},
		} {
			require.Equal(t, pair[0] == nil, pair[1] == nil, "%s: %s of %s", when, name, mint)
			exact := slack
			if name == "price_usd" || name == "price before" {
				exact = 0
			}
			if pair[0] != nil {
				require.InDelta(t, *pair[0], *pair[1], exact+1e-9*max(math.Abs(*pair[0]), 0), "%s: %s of %s", when, name, mint)
			}
		}
		require.Equal(t, []any{w.trades, uint64(len(w.traders)), w.pools, w.last}, []any{m.Trades, m.Traders, m.Pools, g.LastTradeAt.UTC()}, "%s: %s", when, mint)
		require.Equal(t, []string{shown(w.priceAt), shown(w.firstPool), shown(w.liquidAt)},
			[]string{shown(m.PriceAt), shown(m.FirstPoolAt), shown(m.LiquidityAt)}, "%s: times of %s", when, mint)
	}
}

func shown(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.DateTime)
}
