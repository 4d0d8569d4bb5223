package clmm

import (
	"github.com/mintlake/mintlake/swap/venue"
)

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	return p.after(&r, uint64(max(q.Order.Clock.UnixTime, 0)))
}

// after returns the pool as a swap leaves it.
func (p *Pool) after(r *result, now uint64) (*Pool, error) {
	next := &Pool{program: p.program, address: p.address, extensionKey: p.extensionKey, state: p.state, config: p.config, mints: p.mints, extension: p.extension, window: p.window}
	s := &next.state
	if s.dynamic.on {
		s.dynamic.begin(r.phase, floorDiv(s.tick, s.spacing))
		s.dynamic.volatility = r.last().volatility
		if r.phase != phaseKeep {
			s.dynamic.updated = now
		}
	}
	next.sell(r)
	last := r.last()
	s.price, s.liquidity, s.tick = r.price, last.liquidity, last.tick
	if !last.atTick || r.price != last.to {
		if r.price != last.from {
			s.tick = tickAt(r.price)
		}
		return next, nil
	}
	t := &p.arrays[last.array].ticks[last.place]
	if t.orders > r.sold {
		s.tick = t.passed(!last.up) // the price waits before the orders
		return next, nil
	}
	s.tick = t.passed(last.up)
	var err error
	s.liquidity, err = t.crossed(s.liquidity, last.up)
	return next, err
}

// sell takes what the limit orders of a swap's steps sold.
func (p *Pool) sell(r *result) {
	p.arrays = append([]held(nil), p.arrays...)
	for i := range r.steps {
		s := &r.steps[i]
		if s.orders == 0 {
			continue
		}
		sold := s.orders
		if i == len(r.steps)-1 {
			sold = r.sold
		}
		a := *p.arrays[s.array].array
		a.ticks = append([]tick(nil), a.ticks...)
		a.ticks[s.place].orders -= sold
		p.arrays[s.array].array = &a
	}
	for i := range p.arrays { // ticks without anything left are gone
		a := *p.arrays[i].array
		a.ticks = nil
		for _, t := range p.arrays[i].ticks {
			if t.initialized() {
				a.ticks = append(a.ticks, t)
			}
		}
		p.arrays[i].array = &a
	}
}
