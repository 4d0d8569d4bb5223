package oracle

import (
	"math"
	"time"
)

// windows sums up the legs of each window.
func (o *Oracle) windows(rows map[string]*row, until time.Time) {
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
func (o *Oracle) organic(rows map[string]*row, until time.Time) {
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
func (o *Oracle) pools(rows map[string]*row, day time.Time, solPrice *float64) {
	type state struct {
		first, created *creation
		last           *held
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
			s.last = &held{l.place, l.at, l.mint, l.reserve}
		}
	}
	for _, c := range o.changes {
		if s := states[c.pooled()]; s != nil && c.reserve != nil && (s.last == nil || s.last.before(c.place)) {
			s.last = &held{c.place, c.at, c.mint, c.reserve}
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
			if s.last == nil || !s.last.at.After(day) || !Anchor(key.a) && !Anchor(key.b) {
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
