package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// minute is what a pool did in a minute. Of amounts and reserves, 0 is of the mint a.
type minute struct {
	pooled
	start    time.Time
	amount   [2]float64
	reserve  [2]float64 // of the last leg that states them
	stated   *place
	decimals [2]*uint32
}

// prices are those of one minute.
type prices struct {
	start time.Time
	// whole is of a whole token, raw of the smallest unit, depth what the pool of the price holds.
	whole, raw, depth map[string]float64
}

func (o *Oracle) minutes() (list []*minute) {
	type key struct {
		pooled
		start time.Time
	}
	found := map[key]*minute{}
	for _, l := range o.legs {
		k := key{l.pooled(), l.at.Truncate(time.Minute)}
		m := found[k]
		if m == nil {
			m = &minute{pooled: k.pooled, start: k.start}
			found[k], list = m, append(list, m)
		}
		for side, mint := range l.mint {
			i := 0
			if mint == m.b {
				i = 1
			}
			m.amount[i] += float64(l.amount[side])
			if d := l.decimals[side]; d != nil && (m.decimals[i] == nil || *d > *m.decimals[i]) {
				m.decimals[i] = d
			}
		}
		if l.reserve != nil && (m.stated == nil || m.stated.before(l.place)) {
			m.stated = &l.place
			m.reserve = *(*[2]float64)([]float64{float64(l.reserve[0]), float64(l.reserve[1])})
			if l.mint[0] != m.a {
				m.reserve[0], m.reserve[1] = m.reserve[1], m.reserve[0]
			}
		}
	}
	return list
}

// recent are the minutes by pool that may make a price at start, in their order.
func recent(start time.Time, minutes []*minute) map[pooled][]*minute {
	pools := map[pooled][]*minute{}
	for _, m := range minutes {
		if !m.start.After(start) && m.start.After(start.Add(-time.Hour)) && m.amount[0] > 0 && m.amount[1] > 0 {
			pools[m.pooled] = append(pools[m.pooled], m)
		}
	}
	for _, list := range pools {
		slices.SortFunc(list, func(a, b *minute) int { return a.start.Compare(b.start) })
	}
	return pools
}

// holds is the latest reserve on a side that is not 0.
func holds(list []*minute, side int) (reserve float64) {
	for _, m := range list {
		if m.reserve[side] > 0 {
			reserve = m.reserve[side]
		}
	}
	return reserve
}

func pricesAt(start time.Time, minutes []*minute) *prices {
	p := &prices{start, map[string]float64{}, map[string]float64{}, map[string]float64{}}
	pools := recent(start, minutes)
	if price := priceOfSOL(start, pools); price > 0 {
		p.whole[sol], p.raw[sol] = price, price/1e9
	}
	decimals, deepest := map[string]*uint32{}, map[string]pooled{}
	for _, m := range minutes {
		if !m.start.Equal(start) {
			continue
		}
		for side, mint := range []string{m.a, m.b} {
			if d := m.decimals[side]; decimals[mint] == nil || d != nil && *d > *decimals[mint] {
				decimals[mint] = d
			}
		}
	}
	for pool, list := range pools {
		if Anchor(pool.a) == Anchor(pool.b) {
			continue
		}
		side, mint, anchored := 0, pool.b, pool.a
		if Anchor(pool.b) {
			side, mint, anchored = 1, pool.a, pool.b
		}
		price := 1e-6
		if anchored == sol {
			price = p.raw[sol]
		}
		depth := holds(list, side) * price
		if _, traded := decimals[mint]; !traded || price == 0 || depth < 1_000 {
			continue
		}
		last := -1
		for i := range list { // the last one in which a cent changed hands
			if list[i].amount[side]*price >= 0.01 {
				last = i
			}
		}
		if last < 0 {
			continue
		}
		if was, known := p.depth[mint]; known && (was > depth || was == depth && less(deepest[mint], pool)) {
			continue
		}
		p.depth[mint], deepest[mint] = depth, pool
		p.raw[mint] = list[last].amount[side] * price / list[last].amount[1-side]
	}
	for mint, d := range decimals {
		if stables[mint] {
			p.whole[mint], p.raw[mint] = 1, 1e-6
		} else if raw, known := p.raw[mint]; known && mint != sol && d != nil {
			p.whole[mint] = raw * math.Pow10(int(*d))
		}
	}
	return p
}

func less(x, y pooled) bool {
	return cmp.Or(cmp.Compare(x.pool, y.pool), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) < 0
}

// priceOfSOL is 0 where there is none.
func priceOfSOL(start time.Time, pools map[pooled][]*minute) float64 {
	type deep struct {
		pool  pooled
		depth float64
		side  int // of the stable
	}
	var found []deep
	for pool, list := range pools {
		switch {
		case pool.a == sol && stables[pool.b]:
			found = append(found, deep{pool, holds(list, 1), 1})
		case pool.b == sol && stables[pool.a]:
			found = append(found, deep{pool, holds(list, 0), 0})
		}
	}
	found = slices.DeleteFunc(found, func(d deep) bool { return d.depth < 10_000e6 })
	slices.SortFunc(found, func(x, y deep) int {
		if x.depth != y.depth {
			return cmp.Compare(y.depth, x.depth)
		}
		return map[bool]int{true: -1, false: 1}[less(x.pool, y.pool)]
	})
	found = found[:min(5, len(found))]
	var sum, held float64
	for back := range 10 {
		var at time.Time
		var stable, lamports float64
		for _, d := range found {
			for _, m := range pools[d.pool] {
				if m.start.After(start.Add(-time.Duration(back)*time.Minute)) || m.start.Before(at) {
					continue
				}
				if m.start.After(at) {
					at, stable, lamports = m.start, 0, 0
				}
				stable, lamports = stable+m.amount[d.side], lamports+m.amount[1-d.side]
			}
		}
		if lamports > 0 {
			sum, held = sum+stable*1_000/lamports, held+1
		}
	}
	if held == 0 {
		return 0
	}
	return sum / held
}

// valueOf is what a leg was worth, to a millionth of a dollar; nil: unknown.
func valueOf(l *leg, p *prices) *float64 {
	var usd [2]*float64
	for side, mint := range l.mint {
		if raw, known := p.raw[mint]; known {
			worth := float64(l.amount[side]) * raw
			usd[side] = &worth
		}
	}
	if usd[0] == nil && usd[1] == nil {
		return nil
	}
	var value float64
	switch in, out := l.mint[0], l.mint[1]; {
	case stables[in] && stables[out]:
		value = min(*usd[0], *usd[1])
	case stables[in]:
		value = *usd[0]
	case stables[out]:
		value = *usd[1]
	case in == sol && usd[0] != nil:
		value = *usd[0]
	case out == sol && usd[1] != nil:
		value = *usd[1]
	default:
		value = math.Inf(1)
		for side, mint := range l.mint {
			if usd[side] != nil {
				value = min(value, *usd[side])
			}
			if depth, known := p.depth[mint]; known {
				value = min(value, depth)
			}
		}
	}
	value = math.Round(min(value, 1e11)*1e6) / 1e6
	return &value
}
