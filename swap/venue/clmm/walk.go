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
// the limit orders of a tick sell. A swap makes the steps in their order, each one whole, except
// the last one.
type step struct {
	terms
	// before is the sum of what the earlier steps move.
	before amounts
	// sells is the greatest amount of an exact-in order that ends with this step or an earlier one.
	// buys is the same for an exact-out order.
	sells, buys uint64
	// orders is the amount that the limit orders sell. It is 0 for a step that moves the price.
	orders uint64
	// tick is the pool's tick before the step.
	tick int32
	// at is the tick at which the step ends, if atTick is set. array is the index of its array in
	// the pool's arrays, place its index in the array.
	at           int32
	array, place int16
	// touched is how many arrays the program has used by the end of the step.
	touched int16
	atTick  bool
	// volatility is the volatility of the dynamic fee after the step.
	volatility uint32
}

// walk makes the steps of swaps in one direction, for orders of any size.
type walk struct {
	pool *Pool
	// end is the price at which every swap ends.
	end arith.U128

	// The other fields are the state after the steps so far. now has the terms of the next step.
	now     terms
	tick    int32
	dynamic dynamicFee
	group   int32 // group of ticks of the dynamic fee in which the price is
	sum     amounts
	array   int // index of the array of the next tick, in the pool's arrays
	place   int // index of the next tick in that array
	touched int
	sells   uint64
	buys    uint64
	steps   []step
	// stopped is why no step can follow the last one; nil if one may.
	stopped error
}

// newWalk returns a walk without steps that starts at the pool's price. side is the index of the
// mint that is sold.
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

// begin sets array and place to the first tick in the direction.
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

// next returns the next initialized tick. If there is none, it returns nil and sets stopped to the
// reason.
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

// advance makes the steps up to the next initialized tick or to the end of the walk, and the step
// of the tick's limit orders.
func (w *walk) advance() {
	t := w.next()
	if t == nil {
		return
	}
	tickPrice := priceAt(t.index)
	target := tickPrice
	if w.now.up && w.end.Less(tickPrice) || !w.now.up && tickPrice.Less(w.end) {
		target = w.end
	}
	for w.stopped == nil && w.now.from != w.end {
		from, before := w.now.from, len(w.steps)
		if w.dynamic.on {
			w.dynamic.move(w.group)
		}
		w.now.rate = w.dynamic.rate(w.pool.config.rate, w.pool.state.spacing)
		to, skips := w.bound(target)
		w.now.to = to
		if to != from && !w.move(t, to == tickPrice) {
			return
		}
		w.now.from = to
		switch {
		case to == tickPrice:
			w.cross(t)
		case to != from:
			w.tick = tickAt(to)
		}
		w.regroup(skips, to == tickPrice, t.index, before)
		if to == target {
			break
		}
	}
	if w.now.from == w.end && w.stopped == nil {
		w.stopped = errNoTicks
	}
}

// bound returns the price at which a step ends on the way to target. With a dynamic fee a step ends
// at the end of its group of ticks, as the next group may have another fee. skips says that the
// step does not end there, as the fee is not dynamic, the volatility is at its greatest, or there
// is no liquidity.
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

// regroup moves on to the next group of ticks (swap.rs, update_dynamic_fee_index). skips is that of
// bound. atTick says that the price is at the initialized tick index. before is the number of steps
// before those that were just made.
func (w *walk) regroup(skips, atTick bool, index int32, before int) {
	if !w.dynamic.on {
		return
	}
	if skips {
		if !atTick {
			index = w.tick
		}
		w.group = floorDiv(index, w.pool.state.spacing)
		// A rising price that is at the first tick of a group has only passed the group below.
		if w.now.up && index%w.pool.state.spacing == 0 {
			w.group--
		}
		if !w.dynamic.full() {
			w.dynamic.move(w.group)
		}
		if n := len(w.steps); n > before {
			w.steps[n-1].volatility = w.dynamic.volatility
		}
	}
	if w.now.up {
		w.group++
	} else {
		w.group--
	}
}

// move adds the step that moves the price to now.to, on the way to tick t. It returns false if the
// walk stops with this step.
func (w *walk) move(t *tick, atTick bool) bool {
	s := step{terms: w.now, at: t.index, atTick: atTick}
	whole, ok := s.whole()
	return w.add(s, whole, ok, whole.in)
}

// cross adds a step for the limit orders of a tick, if it has any, and then passes the tick: it
// changes the liquidity.
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

// passed returns the pool's tick after the price has passed t in a direction.
func (t *tick) passed(up bool) int32 {
	if up {
		return t.index
	}
	return t.index - 1
}

// crossed returns the liquidity after the price has passed t in a direction.
func (t *tick) crossed(liquidity arith.U128, up bool) (arith.U128, error) {
	if !t.liquid {
		return liquidity, nil
	}
	sum, net := liquidity.Wide(), t.net.Wide()
	if t.net.Hi>>63 == 1 { // negative: extend the sign to 256 bits
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

// add appends a step. whole is what the step moves as a whole. If ok is false, whole exceeds 64
// bits, so no order passes the step. most is the greatest rest with which an exact-in order ends
// with this step. add returns false if the walk stops with it.
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

// saturate returns a+b, or the greatest uint64 if the sum exceeds it.
func saturate(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// plus returns the sums of a and b. ok is false if one of them exceeds 64 bits.
func (a amounts) plus(b amounts) (sum amounts, ok bool) {
	sum = amounts{a.in + b.in, a.out + b.out, a.fee + b.fee}
	return sum, sum.in >= a.in && sum.out >= a.out && sum.fee >= a.fee
}
