package market

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mr-tron/base58"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

const sol = "So11111111111111111111111111111111111111112"

// stables all have six decimals.
var stables = map[string]bool{
	"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v": true, "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB": true,
	"2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo": true, "USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB": true, "USDSwr9ApdHk5bvJKMjzff41FfuX8bSxdKcR81vTwcA": true,
}

func anchor(mint string) bool { return mint == sol || stables[mint] }

// place is where an instruction stands on the chain; legs here have no two of one place.
type place [5]uint64

func placeOf(p *eventspb.Position) place {
	inner := uint64(0)
	if p.InnerInstructionIndex != nil {
		inner = uint64(p.GetInnerInstructionIndex()) + 1
	}
	return place{p.GetSlot(), uint64(p.GetTransactionIndex()), uint64(p.GetInstructionIndex()), inner, uint64(p.GetBatchIndex())}
}

func (p place) before(q place) bool { return slices.Compare(p[:], q[:]) < 0 }

// leg is a leg as the oracle reads it; side 0 went in, side 1 came out.
type leg struct {
	place
	at       time.Time
	pool     string
	mint     [2]string
	amount   [2]uint64
	decimals [2]*uint32
	reserve  *[2]uint64
	trader   string
	value    *float64
}

// pooled is a pool with one pair of mints.
type pooled struct{ pool, a, b string }

func (l *leg) pooled() pooled {
	return pooled{l.pool, min(l.mint[0], l.mint[1]), max(l.mint[0], l.mint[1])}
}

// creation is the record of a pool's creation, or of its sight.
type creation struct {
	place
	at      time.Time
	created bool
}

// oracle knows all legs and computes docs/volume.md over them by loops.
type oracle struct {
	legs      []*leg
	creations map[pooled][]creation
}

func newOracle() *oracle { return &oracle{creations: map[pooled][]creation{}} }

func (o *oracle) add(message proto.Message) {
	switch m := message.(type) {
	case *eventspb.SwapLeg:
		l := &leg{
			place: placeOf(m.GetPosition()), at: time.Unix(m.GetBlockTime(), 0).UTC(), pool: base58.Encode(m.GetPool()),
			mint: [2]string{base58.Encode(m.GetMintIn()), base58.Encode(m.GetMintOut())}, amount: [2]uint64{m.GetAmountIn(), m.GetAmountOut()},
			decimals: [2]*uint32{m.DecimalsIn, m.DecimalsOut}, trader: string(m.GetTrader()),
		}
		if m.ReserveIn != nil && m.ReserveOut != nil {
			l.reserve = &[2]uint64{m.GetReserveIn(), m.GetReserveOut()}
		}
		o.legs = append(o.legs, l)
	case *eventspb.Pool:
		a, b := base58.Encode(m.GetMintA()), base58.Encode(m.GetMintB())
		key := pooled{base58.Encode(m.GetPool()), min(a, b), max(a, b)}
		o.creations[key] = append(o.creations[key], creation{placeOf(m.GetPosition()), time.Unix(m.GetBlockTime(), 0).UTC(), m.GetCreated()})
	}
}

// minute is what a pool did in a minute. Of amounts and reserves, 0 is of the mint a.
type minute struct {
	pooled
	start    time.Time
	amount   [2]float64
	reserve  [2]float64 // of the last leg that states them
	stated   *place
	decimals [2]*uint32
}

// row is what the market says of a mint. Nil: unknown.
type row struct {
	price, before, liquidity, organic, day, fiveMinutes, hour, sixHours *float64
	priceAt, firstPool, liquidAt                                        *time.Time
	trades, pools                                                       uint64
	traders                                                             map[string]bool
	last                                                                time.Time
}

// prices are those of one minute.
type prices struct {
	start time.Time
	// whole is of a whole token, raw of the smallest unit, depth what the pool of the price holds.
	whole, raw, depth map[string]float64
}

// market is computed anew from all legs.
func (o *oracle) market() map[string]*row {
	minutes, until := o.minutes(), time.Time{}
	starts := map[time.Time]bool{}
	for _, l := range o.legs {
		starts[l.at.Truncate(time.Minute)] = true
		if l.at.After(until) {
			until = l.at
		}
	}
	all := make([]*prices, 0, len(starts))
	at := map[time.Time]*prices{}
	for start := range starts {
		p := pricesAt(start, minutes)
		all, at[start] = append(all, p), p
	}
	slices.SortFunc(all, func(a, b *prices) int { return a.start.Compare(b.start) })
	for _, l := range o.legs {
		l.value = valueOf(l, at[l.at.Truncate(time.Minute)])
	}
	rows := map[string]*row{}
	o.windows(rows, until)
	o.organic(rows, until)
	latest := func(mint string, from, to time.Time, of func(*prices) map[string]float64) (price *float64, when *time.Time) {
		for _, p := range all {
			if value, known := of(p)[mint]; known && p.start.After(from) && !p.start.After(to) {
				price, when = &value, &p.start
			}
		}
		return price, when
	}
	whole := func(p *prices) map[string]float64 { return p.whole }
	day := until.Add(-24 * time.Hour)
	solPrice, _ := latest(sol, day, until, func(p *prices) map[string]float64 { return p.raw })
	for mint, r := range rows {
		r.price, r.priceAt = latest(mint, day, until, whole)
		r.before, _ = latest(mint, day.Add(-24*time.Hour), day, whole)
	}
	o.pools(rows, day, solPrice)
	return rows
}

func (o *oracle) minutes() (list []*minute) {
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
		if anchor(pool.a) == anchor(pool.b) {
			continue
		}
		side, mint, anchored := 0, pool.b, pool.a
		if anchor(pool.b) {
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
		if was, known := p.depth[mint]; known && (was > depth || was == depth && less(deepest[mint], pool)) {
			continue
		}
		last := list[len(list)-1]
		p.depth[mint], deepest[mint] = depth, pool
		p.raw[mint] = last.amount[side] * price / last.amount[1-side]
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
