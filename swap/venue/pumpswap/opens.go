package pumpswap

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

var _ venue.Opener = (*Pool)(nil)

// Opens implements venue.Opener. It returns the account in which the program counts the user's
// purchases and cashback, and that account's token account if cashback is paid. A sale opens them
// only if it pays cashback.
func (p *Pool) Opens(q venue.Quote, user venue.Key) ([]venue.Opening, error) {
	side, err := venue.Side(p.Mints(), q.Order.In)
	if err != nil {
		return nil, err
	}
	if side != quote && !p.paysBack(q) {
		return nil, nil
	}
	return p.ChainOpens(q, user)
}

// ChainOpens implements venue.Chained. multi_hop_swap opens the account of the counts for sales as
// well, and its token account if cashback is paid.
func (p *Pool) ChainOpens(q venue.Quote, user venue.Key) ([]venue.Opening, error) {
	d := deriver{}
	volume := d.address([]byte("user_volume_accumulator"), user[:])
	list := []venue.Opening{{Account: volume, Owner: Program, Size: pumpfees.VolumeSize}}
	if p.paysBack(q) {
		m := p.mints[quote]
		list = append(list, venue.Opening{Account: d.associated(volume, p.state.quote, m.Program), Owner: m.Program, Size: m.AccountSize()})
	}
	return list, d.err
}

// paysBack returns whether the creator's fee of a quote goes back to the user.
func (p *Pool) paysBack(q venue.Quote) bool { return p.state.cashback && paysCreator(q) }

// paysCreator returns whether the swap of a quote pays a creator fee.
func paysCreator(q venue.Quote) bool {
	for _, fee := range q.Fees.List() {
		if fee.Kind == venue.FeeCreator {
			return true
		}
	}
	return false
}
