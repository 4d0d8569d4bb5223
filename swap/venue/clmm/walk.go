package clmm

import (
	"fmt"
	"math"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// maxSteps bounds the steps of one swap. A step costs the program some 3,000 compute units or more,
// and a transaction has 1,400,000.
const maxSteps = 512

var (
	errSteps   = fmt.Errorf("%w: it takes more steps than a transaction can compute", venue.ErrTooLarge)
	errNoTicks = fmt.Errorf("%w: no more liquidity in this direction", venue.ErrNoLiquidity)
)

// step is a part of a swap in one direction: the price moves on with one liquidity and one fee, or
// the limit orders of a tick sell. A swap makes the steps in their order, each as a whole, but for
// the last one.
type step struct {
	terms
	// before is what the earlier steps move together.
	before amounts
	// sells is the most that an exact-in order may have in all so that it ends with this step or an
	// earlier one; buys is the same for an exact-out order.
	sells, buys uint64
	// orders is the amount of the limit orders that sell, 0 for a step of the price.
	orders uint64
	// tick is the pool's tick before the step.
	tick int32
	// at is the tick at which the step ends, if atTick is set. array and place say where it is.
	at           int32
	array, place int16
	// touched is how many arrays the program has needed by the end of the step.
	touched int16
	atTick  bool
	// volatility is that of the dynamic fee after the step.
	volatility uint32
}

// walk makes the steps of swaps in one direction, for orders of any size.
type walk struct {
	pool *Pool
	// end is the price at which every swap ends.
	end arith.U128

	now     terms
	tick    int32
	dynamic dynamicFee
	group   int32
	sum     amounts
	array   int // of the next tick, in the pool's arrays
	place   int // of the next tick in it
	touched int
	sells   uint64
	buys    uint64
	steps   []step
	// stopped is why there is no step after the last one.
	stopped error
}

// newWalk starts at the pool's price. side is the index of the mint that is sold.
func newWalk(p *Pool, side int, ph phase, end arith.U128) *walk {
	s := &p.state
	w := &walk{pool: p, end: end, tick: s.tick, dynamic: s.dynamic}
	w.now = terms{liquidity: s.liquidity, from: s.price, up: side == 1, onInput: s.feeFromInput(side)}
	if w.dynamic.on {
		w.group = floorDiv(s.tick, s.spacing)
		w.dynamic.begin(ph, w.group)
	}
	w.begin()
	return w
}

// begin finds the first tick in the direction.
func (w *walk) begin() {
	list, first := w.pool.arrays, w.pool.first(w.now.up)
	if first < 0 || first >= len(list) {
		w.array, w.place = first, 0
		return
	}
	w.array, w.touched = first, 1
	ticks := list[first].ticks
	w.place = len(ticks)
	for i, t := range ticks {
		if t.index > w.tick {
			w.place = i
			break
		}
	}
	if !w.now.up {
		w.place--
	}
}

// next returns the next initialized tick; nil if there is none, as stopped says.
func (w *walk) next() *tick {
	list := w.pool.arrays
	for w.array >= 0 && w.array < len(list) {
		if w.place >= 0 && w.place < len(list[w.array].ticks) {
			return &list[w.array].ticks[w.place]
		}
		w.touched++
		if w.now.up {
			w.array, w.place = w.array+1, 0
			continue
		}
		if w.array--; w.array >= 0 {
			w.place = len(list[w.array].ticks) - 1
		}
	}
	w.stopped = errNoTicks
	if more := &w.pool.more; w.now.up && more[1] || !w.now.up && more[0] {
		w.stopped = errBeyond
	}
	return nil
}

// advance makes the steps up to the next tick.
func (w *walk) advance() {
	t := w.next()
	if t == nil {
		return
	}
	reach := priceAt(t.index)
	target := reach
	if w.now.up && w.end.Less(reach) || !w.now.up && reach.Less(w.end) {
		target = w.end
	}
	for w.stopped == nil && w.now.from != w.end {
		from, made := w.now.from, len(w.steps)
		if w.dynamic.on {
			w.dynamic.move(w.group)
		}
		w.now.rate = w.dynamic.rate(w.pool.config.rate, w.pool.state.spacing)
		to, skips := w.bound(target)
		w.now.to = to
		if to != from && !w.move(t, to == reach) {
			return
		}
		w.now.from = to
		switch {
		case to == reach:
			w.cross(t)
		case to != from:
			w.tick = tickAt(to)
		}
		w.regroup(skips, to == reach, t.index, made)
		if to == target {
			break
		}
	}
	if w.now.from == w.end && w.stopped == nil {
		w.stopped = errNoTicks
	}
}

// bound returns where a step ends on the way to target: with a dynamic fee at the end of its group
// of ticks, as the next one may have another fee. skips says that the groups do not matter.
func (w *walk) bound(target arith.U128) (to arith.U128, skips bool) {
	if !w.dynamic.on || w.now.liquidity.IsZero() || w.dynamic.full() {
		return target, true
	}
	edge := w.group
	if w.now.up {
		edge++
	}
	limit := priceAt(min(max(edge*w.pool.state.spacing, minTick), maxTick))
	if w.now.up && target.Less(limit) || !w.now.up && limit.Less(target) {
		return target, false
	}
	return limit, false
}

// regroup moves on to the next group of ticks (swap.rs, update_dynamic_fee_index). made is how many
// steps there were before.
func (w *walk) regroup(skips, atTick bool, index int32, made int) {
	if !w.dynamic.on {
		return
	}
	if skips {
		if !atTick {
			index = w.tick
		}
		w.group = floorDiv(index, w.pool.state.spacing)
		if w.now.up && index%w.pool.state.spacing == 0 {
			w.group--
		}
		if !w.dynamic.full() {
			w.dynamic.move(w.group)
		}
		if n := len(w.steps); n > made {
			w.steps[n-1].volatility = w.dynamic.volatility
		}
	}
	if w.now.up {
		w.group++
	} else {
		w.group--
	}
}

// move adds the step to a price on the way to a tick. It returns false if no order comes behind it.
func (w *walk) move(t *tick, atTick bool) bool {
	s := step{terms: w.now, at: t.index, atTick: atTick}
	whole, ok := s.whole()
	return w.add(s, whole, ok, whole.in)
}

// cross adds the step of a tick's limit orders, and takes in its liquidity.
func (w *walk) cross(t *tick) {
	if t.orders > 0 {
		s := step{terms: w.now, at: t.index, atTick: true, orders: t.orders}
		o := s.offer(t.orders)
		whole, ok := o.whole()
		if !w.add(s, whole, ok, o.most()) {
			return
		}
	}
	liquidity, err := t.crossed(w.now.liquidity, w.now.up)
	if err != nil {
		w.stopped = err
		return
	}
	w.now.liquidity = liquidity
	w.tick = t.passed(w.now.up)
	if w.now.up {
		w.place++
	} else {
		w.place--
	}
}

// passed returns the pool's tick after the price has passed a tick in a direction.
func (t *tick) passed(up bool) int32 {
	if up {
		return t.index
	}
	return t.index - 1
}

// crossed returns the liquidity behind a tick.
func (t *tick) crossed(liquidity arith.U128, up bool) (arith.U128, error) {
	if !t.liquid {
		return liquidity, nil
	}
	sum, net := liquidity.Wide(), t.net.Wide()
	if t.net.Hi>>63 == 1 {
		net[2], net[3] = math.MaxUint64, math.MaxUint64
	}
	if up {
		sum.Add(&sum, &net)
	} else {
		sum.Sub(&sum, &net)
	}
	if sum[2]|sum[3] != 0 {
		return arith.U128{}, fmt.Errorf("%w: impossible liquidity at tick %d", venue.ErrMalformed, t.index)
	}
	return arith.Narrow(&sum), nil
}

// add adds a step. whole is what it moves as a whole; without ok it never ends so. most is how much
// an exact-in order may have left to end there. It returns false if no order comes behind it.
func (w *walk) add(s step, whole amounts, ok bool, most uint64) bool {
	if len(w.steps) == maxSteps {
		w.stopped = errSteps
		return false
	}
	s.before, s.tick, s.touched, s.volatility = w.sum, w.tick, int16(w.touched), w.dynamic.volatility
	s.array, s.place = int16(w.array), int16(w.place)
	next, fits := w.sum.plus(whole)
	if ok && fits {
		w.sells, w.buys, w.sum = max(w.sells, saturate(w.sum.in, most)), max(w.buys, next.out), next
	} else {
		w.sells, w.buys, w.stopped = math.MaxUint64, math.MaxUint64, errOverflow
	}
	s.sells, s.buys = w.sells, w.buys
	w.steps = append(w.steps, s)
	return w.stopped == nil
}

func saturate(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// plus adds amounts; ok is false if one exceeds 64 bits.
func (a amounts) plus(b amounts) (sum amounts, ok bool) {
	sum = amounts{a.in + b.in, a.out + b.out, a.fee + b.fee}
	return sum, sum.in >= a.in && sum.out >= a.out && sum.fee >= a.fee
}
