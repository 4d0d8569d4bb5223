package dlmm

import (
	"github.com/mintlake/mintlake/swap/venue"
)

// After implements venuetest.Pool. Filled limit orders are gone: what they got is their owners'.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	from, err := venue.Side(p.state.mints, q.Order.In)
	if err != nil {
		return nil, err
	}
	l, err := p.ladder(from == 0, q.Order.Clock)
	if err != nil {
		return nil, err
	}
	amount, err := p.pair(from).AtPool(q.Order)
	if err != nil {
		return nil, err
	}
	r, err := l.swap(amount, q.Order.ExactOut)
	if err != nil {
		return nil, err
	}
	next := &Pool{address: p.address, state: p.state, mints: p.mints, extension: p.extension}
	next.state.fee = p.stateAfter(l, &r, q.Order.Clock.UnixTime)
	next.state.active = r.bin
	changes := map[int32]bin{}
	rest := amount
	for i := range r.bins {
		s := &l.steps[i]
		o := l.offer(s)
		compute := o.sell
		if q.Order.ExactOut {
			compute = o.buy
		}
		f, err := compute(rest)
		if err != nil {
			return nil, err
		}
		if rest -= f.in; q.Order.ExactOut {
			rest += f.in - f.out
		}
		net := f.in
		if l.onInput {
			net -= f.fee
		}
		changes[s.bin] = left(&o, net)
	}
	for i := range p.sides {
		next.sides[i] = p.sides[i].changed(changes, l.forY)
	}
	return next, nil
}

// left returns what a bin has after its layers were filled with an amount: in x and y how its
// liquidity changed.
func left(o *offer, net uint64) (b bin) {
	layers := o.layers
	for i := range layers {
		cost, err := o.cost(layers[i])
		if err != nil || layers[i] == 0 {
			continue
		}
		part := min(cost, net)
		gone := layers[i]
		if part < cost {
			gone, _ = o.worth(part)
		}
		if net -= part; i == 0 {
			b.x, b.y = part, gone // what came, and what went
		}
		layers[i] -= gone
	}
	b.processed, b.open = layers[1], layers[2]
	return b
}

// changed returns a side of which some bins have changed.
func (s side) changed(changes map[int32]bin, forY bool) side {
	next := side{end: s.end}
	for _, h := range s.arrays {
		a := *h.array
		a.bins = nil
		h.array.each(false, func(b bin) bool {
			if c, ok := changes[h.index*binsPerArray+int32(b.place)]; ok {
				if forY {
					b.x, b.y = b.x+c.x, b.y-c.y
				} else {
					b.x, b.y = b.x-c.y, b.y+c.x
				}
				if b.ask != forY {
					b.processed, b.open = c.processed, c.open
				}
			}
			a.bins = appendBin(a.bins, &b)
			return true
		})
		h.array = &a
		next.arrays = append(next.arrays, h)
	}
	return next
}

// stateAfter returns the fee's variables after a swap.
func (p *Pool) stateAfter(l *ladder, r *result, now int64) fee {
	regime, _ := p.state.fee.regimeAt(now)
	after := p.state.fee.start(regime, p.state.active)
	after.accumulator = uint32(after.crossed(r.bin))
	after.updated = now
	return after
}
