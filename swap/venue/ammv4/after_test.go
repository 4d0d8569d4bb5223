package ammv4

import "github.com/mintlake/mintlake/swap/venue"

// After implements venuetest.Pool.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	next.vaults[r.side] += r.in
	next.vaults[1-r.side] -= r.out
	return &next, nil
}
