package market

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/replica"
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
