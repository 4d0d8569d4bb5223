package pumpswap

import "github.com/mintlake/mintlake/swap/venue"

// volumeSize is the length of a UserVolumeAccumulator account.
const volumeSize = 137

var _ venue.Opener = (*Pool)(nil)

// Opens implements venue.Opener: the account in which the program counts what the user buys, and
// the token account of that for cashback.
func (p *Pool) Opens(q venue.Quote, user venue.Key) ([]venue.Opening, error) {
	side, err := venue.Side(p.Mints(), q.Order.In)
	if err != nil {
		return nil, err
	}
	d := deriver{}
	volume := d.address([]byte("user_volume_accumulator"), user[:])
	var list []venue.Opening
	if side == quote {
		list = append(list, venue.Opening{Account: volume, Owner: Program, Size: volumeSize})
	}
	if p.state.cashback && paysCreator(q) {
		m := p.mints[quote]
		list = append(list, venue.Opening{Account: d.associated(volume, p.state.quote, m.Program), Owner: m.Program, Size: m.AccountSize()})
	}
	return list, d.err
}

// paysCreator returns whether the swap of a quote pays a creator fee.
func paysCreator(q venue.Quote) bool {
	for _, fee := range q.Fees.List() {
		if fee.Kind == venue.FeeCreator {
			return true
		}
	}
	return false
}
