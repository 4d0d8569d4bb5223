package launchlab

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
)

var _ venue.Venue = Venue{}

// Features of a swap.
const (
	featureExactOut venue.Features = 1 << iota
	featureSale
	featureFixed
	featureLinear
	featureCreatorFee
)

// Proof implements venue.Traced. There is no executable of the program.
func (Venue) Proof() venue.Proof { return venue.ProofChain }

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"exact_out", "sale", "fixed_price", "linear_price", "creator_fee"}
}

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program} }

// Trade implements venue.Traced. A swap that gives a referrer a share is not a trade, as no order
// can express it.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, user, pool, coin, price = 15, 0, 4, 5, 6 // least number, and indexes
	const amount, share, size = 8, 24, 32                    // offsets in the data, size
	if len(c.Accounts) < accounts || len(c.Data) < size || binary.LittleEndian.Uint64(c.Data[share:]) != 0 {
		return venue.Trade{}, false
	}
	t := venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[coin], Destination: c.Accounts[price],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]),
	}
	switch [8]byte(c.Data) {
	case buyExactIn:
		t.Source, t.Destination = t.Destination, t.Source
	case buyExactOut:
		t.Source, t.Destination, t.ExactOut = t.Destination, t.Source, true
	case sellExactIn:
	case sellExactOut:
		t.ExactOut = true
	default:
		return venue.Trade{}, false
	}
	return t, true
}
