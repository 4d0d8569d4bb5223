package cpmm

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
)

var _ venue.Venue = Venue{}

// Features of a swap.
const (
	featureExactOut venue.Features = 1 << iota
	featureCreatorFee
	featureCreatorOnOutput
	featureTransferFee
)

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"exact_out", "creator_fee", "creator_fee_on_output", "transfer_fee"}
}

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program} }

// Trade implements venue.Traced.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, user, pool, source, destination = 13, 0, 3, 4, 5 // least number, and indexes
	const first, second, size = 8, 16, 24                            // offsets in the data, size
	if len(c.Accounts) < accounts || len(c.Data) < size {
		return venue.Trade{}, false
	}
	t := venue.Trade{Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[source], Destination: c.Accounts[destination]}
	switch [8]byte(c.Data) {
	case swapBaseInput:
		t.Amount = binary.LittleEndian.Uint64(c.Data[first:])
	case swapBaseOutput:
		t.Amount, t.ExactOut = binary.LittleEndian.Uint64(c.Data[second:]), true
	default:
		return venue.Trade{}, false
	}
	return t, true
}
