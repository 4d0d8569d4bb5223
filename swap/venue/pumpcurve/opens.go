package pumpcurve

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

var _ venue.Opener = (*Pool)(nil)

// Opens implements venue.Opener: the account in which the program counts what the user trades.
func (p *Pool) Opens(_ venue.Quote, user venue.Key) ([]venue.Opening, error) {
	volume, err := venue.Derive(Program, []byte("user_volume_accumulator"), user[:])
	return []venue.Opening{{Account: volume, Owner: Program, Size: pumpfees.VolumeSize}}, err
}
