package dlmm

import (
	"fmt"
	"math"
	"sort"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// mostBins is the greatest number of bins from which a swap may take something. With more bins it
// might use up the 1.4 million compute units of a transaction.
const mostBins = 170

var (
	errWindow = fmt.Errorf("%w: the next bin array is not at hand", venue.ErrBeyond)
	errEmpty  = fmt.Errorf("%w: there are no further bins", venue.ErrNoLiquidity)
	errBins   = fmt.Errorf("%w: it would go through more than %d bins", venue.ErrTooLarge, mostBins)
	errPrice  = fmt.Errorf("%w: the price of a bin does not follow from its number", venue.ErrMalformed)
)

// step is a bin that sells something. in, out and fee are sums over this bin and the bins before
// it, for orders that go on to the next bin.
type step struct {
	layers  [3]uint64
	price   arith.U128
	rate    uint64
	in, out uint64
	fee     uint64
	// bin is the number of the bin. arrays is how many arrays a swap that ends in it uses.
	bin    int32
	arrays uint8
	// stays is the greatest amount of an exact-in order that ends in this bin or in one before it.
	stays uint64
	// bought has the sums of in and fee for exact-out orders. Those skip a bin whose fee is all
	// that the bin gives.
	bought filled
}

// ladder has the bins of all swaps in one direction, at one state and one regime of the fee. A swap
// empties a number of bins and takes a part of one more, so a quote is a binary search and a
// computation on one bin. Immutable.
type ladder struct {
	forY, onInput bool
	steps         []step
	// overflows says that no order passes the last bin, as a number of the program would overflow.
	overflows bool
	// end is why no step follows the last one.
	end error
}

// result is the result of a swap at the pool. in includes a fee on the input, and out is without a
// fee on the output.
type result struct {
	in, out, fee uint64
	// bin is the last bin that was used. bins and arrays are how many were used.
	bin          int32
	bins, arrays int
}

func (l *ladder) offer(s *step) offer {
	return offer{layers: s.layers, price: s.price, rate: s.rate, forY: l.forY, onInput: l.onInput}
}

// swap computes an order. amount is what reaches the pool, or what leaves it if exactOut.
func (l *ladder) swap(amount uint64, exactOut bool) (result, error) {
	last := sort.Search(len(l.steps), func(i int) bool {
		if exactOut {
			return l.steps[i].out >= amount
		}
		return l.steps[i].stays >= amount
	})
	if last == len(l.steps) {
		if !l.overflows {
			return result{}, l.end
		}
		last--
	}
	s := &l.steps[last]
	r := result{bin: s.bin, bins: last + 1, arrays: int(s.arrays)}
	if last > 0 {
		before := &l.steps[last-1]
		r.in, r.out, r.fee = before.in, before.out, before.fee
		if exactOut {
			r.in, r.fee = before.bought.in, before.bought.fee
		}
	}
	o := l.offer(s)
	rest, compute := amount-r.in, o.sell
	if exactOut {
		rest, compute = amount-r.out, o.buy
	}
	f, err := compute(rest)
	if err != nil {
		return result{}, err
	}
	if !r.add(f) || exactOut && f.out != rest || !exactOut && f.in != rest {
		return result{}, errOverflow
	}
	return r, nil
}

// add adds what a bin moves. It returns false if in or out would exceed 64 bits.
func (r *result) add(f filled) bool {
	in, out := r.in+f.in, r.out+f.out
	if in < f.in || out < f.out {
		return false
	}
	r.in, r.out, r.fee = in, out, r.fee+f.fee
	return true
}

// climber builds a ladder.
type climber struct {
	*ladder
	fee    fee
	step   uint16
	orders bool
	powers powers
	sums   result
	bought filled
	arrays uint8
}

// climb makes the ladder of a direction and a regime.
func (p *Pool) climb(forY bool, r regime) *ladder {
	c := climber{
		ladder: &ladder{forY: forY, onInput: !p.state.onlyY || !forY, steps: make([]step, 0, 32)}, fee: p.state.fee.start(r, p.state.active),
		step: p.state.step, orders: p.state.orders, powers: powersOf(p.state.step),
	}
	side := p.side(forY)
	for i := range side.arrays {
		h := &side.arrays[i]
		c.arrays = uint8(i + 1)
		goesOn := h.array.each(forY, func(b bin) bool {
			number := h.index*binsPerArray + int32(b.place)
			if number < minBin || number > maxBin || forY && number > p.state.active || !forY && number < p.state.active {
				return true
			}
			return c.add(number, b)
		})
		if !goesOn {
			return c.ladder
		}
	}
	c.end = side.end
	return c.ladder
}

// add adds a bin. It returns false if the ladder ends with this bin.
func (c *climber) add(number int32, b bin) bool {
	layers := [3]uint64{b.x}
	if c.forY {
		layers[0] = b.y
	}
	if c.orders && b.ask != c.forY {
		layers[1], layers[2] = b.processed, b.open
	}
	if layers == [3]uint64{} {
		return true
	}
	price := c.powers.at(number)
	switch {
	case checkOf(price) != b.check:
		c.end = errPrice
		return false
	case len(c.steps) == mostBins:
		c.end = errBins
		return false
	}
	s := step{layers: layers, price: price, rate: c.fee.rate(number, c.step), bin: number, arrays: c.arrays}
	o := c.offer(&s)
	f, stays, ok := o.whole()
	before := c.sums
	if !ok || !c.sums.add(f) {
		// The sums are those of the step before: swap uses this step for all orders that pass the
		// other steps.
		c.overflows, c.end = true, errOverflow
		s.in, s.out, s.fee, s.bought, s.stays = before.in, before.out, before.fee, c.bought, before.in
		c.steps = append(c.steps, s)
		return false
	}
	if s.stays = before.in + stays; s.stays < stays {
		s.stays = math.MaxUint64
	}
	if f.out > 0 {
		c.bought.in += f.in
		c.bought.fee += f.fee
	}
	s.in, s.out, s.fee, s.bought = c.sums.in, c.sums.out, c.sums.fee, c.bought
	c.steps = append(c.steps, s)
	return true
}
