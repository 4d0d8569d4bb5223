package dammv2

import "github.com/mintlake/mintlake/swap/venue"

// After implements venuetest.Pool. Fees are kept outside the range, so that the liquidity stays.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	now := uint64(max(q.Order.Clock.UnixTime, 0))
	next.state.dynamic.before(&p.state.price, now)
	next.state.dynamic.after(&p.state.price, &r.move.price, now)
	next.state.price = r.move.price
	return &next, nil
}
