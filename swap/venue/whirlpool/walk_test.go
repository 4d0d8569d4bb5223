package whirlpool

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// walked is a swap that was computed step by step, as the program does, and the state after it.
type walked struct {
	in, out, rest    uint64
	price, liquidity arith.U128
	tick             int32
	oracle           *oracle
}

// walk computes a swap without a ladder. now is in seconds. What is left of an order that reaches
// the limit is rest.
func (p *Pool) walk(amount uint64, exactOut, aToB bool, limit arith.U128, now uint64) (walked, error) {
	r := regimeKeep
	if p.oracle != nil {
		var ok bool
		if r, ok = p.oracle.regimeAt(now); !ok {
			return walked{}, venue.ErrClosed
		}
	}
	w := walked{rest: amount, price: p.state.price, liquidity: p.state.liquidity, tick: p.state.tick}
	fees := newRates(p.oracle, p.state.rate, aToB, p.state.tick, r)
	group := fees.group
	c := climber{ladder: &ladder{aToB: aToB}, spacing: p.state.spacing}
	for w.rest > 0 && w.price != limit {
		index, net, err := p.nextTick(w.tick, aToB)
		if err != nil {
			return walked{}, err
		}
		end := priceAt(index)
		target := end
		if aToB && end.Less(limit) || !aToB && limit.Less(end) {
			target = limit
		}
		for {
			group = fees.group
			to, _, skip := fees.bound(target, w.liquidity)
			t := terms{liquidity: w.liquidity, from: w.price, to: to, rate: fees.rate(), aToB: aToB}
			var m moved
			if exactOut {
				m, err = t.buy(w.rest)
				w.rest -= m.out
			} else {
				m, err = t.sell(w.rest)
				w.rest -= m.in + m.fee
			}
			if err != nil {
				return walked{}, err
			}
			sums := result{in: w.in, out: w.out}
			if !sums.add(m) {
				return walked{}, errOverflow
			}
			w.in, w.out = sums.in, sums.out
			tick := tickAt(m.price)
			switch {
			case m.price == end:
				c.liquidity = w.liquidity
				if !c.cross(net) {
					return walked{}, c.end
				}
				w.liquidity, tick = c.liquidity, index
				if w.tick = index; aToB {
					w.tick--
				}
			case m.price != w.price:
				w.tick = tick
			}
			w.price = m.price
			before := fees
			fees.advance(tick, skip)
			if skip { // the accumulator is that of the last group behind
				group = before.group
				if ahead := fees.group - before.group; ahead > 1 || ahead < -1 {
					group = fees.group - ahead/max(ahead, -ahead)
				}
			}
			if w.rest == 0 || w.price == target {
				break
			}
		}
	}
	if p.oracle != nil {
		w.oracle = p.oracleAfter(&fees, group, r, now, w.price)
	}
	return w, nil
}

// oracleAfter returns the oracle as a swap leaves it that ended in a tick group at a price.
func (p *Pool) oracleAfter(fees *rates, group int64, r regime, now uint64, price arith.U128) *oracle {
	after := *p.oracle
	after.reference, after.volatility = int32(fees.reference), fees.volatility
	if r != regimeKeep {
		after.updated = now
	}
	distance := uint64(max(fees.reference-group, group-fees.reference))
	after.accumulator = uint32(min(uint64(fees.volatility)+distance*groupWeight, uint64(fees.most)))
	low, high := p.state.price, price
	if high.Less(low) {
		low, high = high, low
	}
	threshold, factor := low.Wide(), priceAt(int32(fees.major)).Wide()
	threshold.Mul(&threshold, &factor)
	threshold.Rsh(&threshold, 64)
	if !high.Less(arith.Narrow(&threshold)) {
		after.majorAt = now
	}
	return &after
}

// nextTick returns the tick that a price next meets from a tick on, and what it changes.
func (p *Pool) nextTick(from int32, aToB bool) (index int32, net arith.U128, err error) {
	width := ticksPerArray * p.state.spacing
	numbers := p.state.sequence(aToB)
	for i, number := range numbers {
		start := number * width
		if a := p.array(number); a != nil {
			for j := range a.ticks {
				if aToB {
					j = len(a.ticks) - 1 - j
				}
				if index := start + int32(a.ticks[j].place)*p.state.spacing; aToB == (index <= from) {
					return index, a.ticks[j].net, nil
				}
			}
		}
		switch last := i == len(numbers)-1; {
		case aToB && start <= minTick:
			return minTick, arith.U128{}, nil
		case !aToB && start+width > maxTick:
			return maxTick, arith.U128{}, nil
		case aToB && last && start <= from:
			return start, arith.U128{}, nil
		case !aToB && last && start+width-1 > from:
			return start + width - 1, arith.U128{}, nil
		}
	}
	return 0, arith.U128{}, errWindow
}

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	aToB := q.Order.In == p.state.mints[0]
	pair := p.pair(0)
	if !aToB {
		pair = p.pair(1)
	}
	amount, err := pair.AtPool(q.Order)
	if err != nil {
		return nil, err
	}
	limit := maxPrice
	if aToB {
		limit = minPrice
	}
	w, err := p.walk(amount, q.Order.ExactOut, aToB, limit, uint64(max(q.Order.Clock.UnixTime, 0)))
	if err != nil {
		return nil, err
	}
	next := &Pool{program: p.program, address: p.address, state: p.state, mints: p.mints, oracle: w.oracle}
	next.state.price, next.state.tick, next.state.liquidity = w.price, w.tick, w.liquidity
	next.takeArrays(p)
	return next, nil
}

// takeArrays moves the arrays of an older state to where they belong at the price.
func (p *Pool) takeArrays(from *Pool) {
	p.first = p.state.number(p.state.tick) - arraysPerSwap + 1
	for i := range p.arrays {
		p.arrays[i] = from.at(p.first + int32(i))
		p.arrays[i].number = p.first + int32(i)
	}
}
