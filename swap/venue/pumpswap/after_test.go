package pumpswap

import "github.com/mintlake/mintlake/swap/venue"

// After implements venuetest.Pool. The liquidity providers' fee stays in the quote vault.
func (p *Pool) After(q venue.Quote) (venue.Pool, error) {
	r, err := p.swap(q.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	if r.side == quote {
		next.vaults[quote] += r.gross + r.fees.LP
		next.vaults[base] -= r.out
	} else {
		next.vaults[base] += r.in
		next.vaults[quote] -= r.gross - r.fees.LP
	}
	return &next, nil
}
