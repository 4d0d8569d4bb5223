package whirlpool

import (
	"fmt"
	"sort"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// mostSteps is the greatest number of steps of a swap. With more steps it might use up the 1.4
// million compute units of a transaction. Only pools with an adaptive fee come near.
const mostSteps = 116

var (
	errWindow = fmt.Errorf("%w: a swap reads three tick arrays", venue.ErrBeyond)
	errSteps  = fmt.Errorf("%w: the fee changes at more than %d prices on the way", venue.ErrTooLarge, mostSteps)
	errEnd    = fmt.Errorf("%w: the price would leave its range", venue.ErrNoLiquidity)
)

// step is one step of a swap in one direction: the price moves on with one liquidity and one fee.
// in, out and fee are sums over this step and the steps before it, for orders that pass its end.
type step struct {
	to, liquidity arith.U128
	in, out, fee  uint64
	rate          uint32
}

// ladder has the steps of all swaps in one direction, at one state and one regime of the fee. A
// swap is a number of whole steps and one that may be partial, so a quote is a binary search and
// one step. Immutable.
//
// An exact-in order passes the end of a step if its rest suffices for what the step takes and the
// fee on top. The program compares ⌊rest·(1−f)⌋ with in, which is the same as comparing rest with
// in+⌈in·f/(1−f)⌉.
type ladder struct {
	aToB  bool
	from  arith.U128
	steps []step
	// overflows says that no order passes the last step, as a number of the program would overflow.
	overflows bool
	// end is why no step follows the last one.
	end error
}

// result is the result of a swap at the pool. in includes the fee.
type result struct {
	in, out, fee uint64
	price        arith.U128
	// steps is the number of steps of the swap.
	steps int
}

// swap computes an order. amount is what reaches the pool, or what leaves it if exactOut.
func (l *ladder) swap(amount uint64, exactOut bool) (result, error) {
	last := sort.Search(len(l.steps), func(i int) bool {
		if exactOut {
			return l.steps[i].out >= amount
		}
		return l.steps[i].in >= amount
	})
	if last == len(l.steps) {
		if !l.overflows {
			return result{}, l.end
		}
		last--
	}
	t := terms{liquidity: l.steps[last].liquidity, from: l.from, to: l.steps[last].to, rate: l.steps[last].rate, aToB: l.aToB}
	r := result{steps: last + 1}
	if last > 0 {
		before := &l.steps[last-1]
		t.from, r.in, r.out, r.fee = before.to, before.in, before.out, before.fee
	}
	rest, compute := amount-r.in, t.sell
	if exactOut {
		rest, compute = amount-r.out, t.buy
	}
	m, err := compute(rest)
	if err != nil {
		return result{}, err
	}
	r.price = m.price
	if !r.add(m) || exactOut && m.out < rest || !exactOut && m.in+m.fee < rest {
		return result{}, errOverflow
	}
	return r, nil
}

// add adds what a step moves. It returns false if in or out would exceed 64 bits.
func (r *result) add(m moved) bool {
	in, out, taken := r.in+m.in+m.fee, r.out+m.out, m.in+m.fee
	if taken < m.in || in < taken || out < m.out {
		return false
	}
	r.in, r.out, r.fee = in, out, r.fee+m.fee
	return true
}

// climber builds a ladder.
type climber struct {
	*ladder
	spacing   int32
	rates     rates
	price     arith.U128
	liquidity arith.U128
	sums      result
}

// climb makes the ladder of a direction and a regime. limit is the price at which the ladder ends
// at the latest.
func (p *Pool) climb(aToB bool, r regime, limit arith.U128) *ladder {
	c := climber{
		ladder: &ladder{aToB: aToB, from: p.state.price}, spacing: p.state.spacing, price: p.state.price, liquidity: p.state.liquidity,
		rates: newRates(p.oracle, p.state.rate, aToB, p.state.tick, r),
	}
	c.steps = make([]step, 0, 16)
	c.walk(p, limit)
	return c.ladder
}

// walk adds the steps to each initialized tick of the arrays, and to the end of the last array.
func (c *climber) walk(p *Pool, limit arith.U128) {
	numbers := p.state.sequence(c.aToB)
	for i, number := range numbers {
		a, start := p.array(number), number*c.width()
		if a != nil && !c.ticks(a, p.state.tick, limit) {
			return
		}
		last := i == len(numbers)-1
		if tick, ends := c.edge(start, last); ends {
			if !c.stepTo(tick, limit, arith.U128{}) {
				return
			}
			break
		}
	}
	c.end = errWindow
}

// width returns how many ticks an array covers.
func (c *climber) width() int32 { return ticksPerArray * c.spacing }

// edge returns the tick at which the array that begins at start ends in the direction. ends says
// that no array follows: last is set, or it is the last tick of all.
func (c *climber) edge(start int32, last bool) (tick int32, ends bool) {
	switch {
	case c.aToB && start <= minTick:
		return minTick, true
	case !c.aToB && start+c.width() > maxTick:
		return maxTick, true
	case c.aToB:
		return start, last
	default:
		return start + c.width() - 1, last
	}
}

// ticks adds the steps to the initialized ticks of an array. from is the pool's tick. ticks returns
// false if the ladder ends.
func (c *climber) ticks(a *array, from int32, limit arith.U128) bool {
	for i := range a.ticks {
		t := &a.ticks[i]
		if c.aToB {
			t = &a.ticks[len(a.ticks)-1-i]
		}
		index := a.start + int32(t.place)*c.spacing
		if c.aToB == (index > from) {
			continue
		}
		if !c.stepTo(index, limit, t.net) {
			return false
		}
	}
	return true
}

// stepTo adds the steps to a tick and crosses it. net is the net liquidity of the tick. stepTo
// returns false if the ladder ends.
func (c *climber) stepTo(index int32, limit, net arith.U128) bool {
	if c.price == limit {
		c.end = errEnd
		return false
	}
	price := priceAt(index)
	target := price
	if price.Less(limit) == c.aToB {
		target = limit
	}
	for {
		if len(c.steps) == mostSteps {
			c.end = errSteps
			return false
		}
		to, tick, skip := c.rates.bound(target, c.liquidity)
		if !c.step(to) {
			return false
		}
		if to == price {
			tick = index
			if !c.cross(net) {
				return false
			}
		}
		c.rates.advance(tick, skip)
		if to == target {
			break
		}
	}
	if c.price == limit {
		c.end = errEnd
		return false
	}
	return true
}

// step adds the step to a price. It returns false if no order can pass the step.
func (c *climber) step(to arith.U128) bool {
	rate := c.rates.rate()
	t := terms{liquidity: c.liquidity, from: c.price, to: to, rate: rate, aToB: c.aToB}
	s := step{to: to, liquidity: c.liquidity, rate: rate}
	m, ok := t.whole()
	if !ok || !c.sums.add(m) {
		c.overflows, c.end = true, errOverflow
		// The sums are those of the step before: swap uses this step for all orders that pass the
		// other steps.
		s.in, s.out = c.sums.in, c.sums.out
		c.steps = append(c.steps, s)
		return false
	}
	s.in, s.out, s.fee = c.sums.in, c.sums.out, c.sums.fee
	c.steps = append(c.steps, s)
	c.price = to
	return true
}

// cross changes the liquidity at a tick. It returns false if the new liquidity is impossible.
func (c *climber) cross(net arith.U128) bool {
	after, change := c.liquidity.Wide(), net.Wide()
	negative := net.Hi>>63 != 0
	if negative {
		change = net.Negative().Wide()
	}
	if negative == c.aToB {
		after.Add(&after, &change)
	} else if after.Sub(&after, &change); after[3] != 0 {
		c.end = fmt.Errorf("%w: the liquidity falls below nothing", venue.ErrMalformed)
		return false
	}
	if after[2] != 0 {
		c.end = fmt.Errorf("%w: the liquidity has more than 128 bits", venue.ErrMalformed)
		return false
	}
	c.liquidity = arith.Narrow(&after)
	return true
}
