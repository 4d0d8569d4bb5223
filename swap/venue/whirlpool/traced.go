package whirlpool

import (
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

var _ venue.Arrayed = Venue{}

// Features of a swap.
const (
	featureExactOut venue.Features = 1 << iota
	featureAdaptiveFee
	featureTransferFee
	featureTwoHop
)

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"exact_out", "adaptive_fee", "transfer_fee", "two_hop"}
}

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program} }

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// unlimited returns whether the price limit in data does not limit a swap: it is 0, or the last
// price of the direction.
func unlimited(data []byte, aToB bool) bool {
	limit := arith.Read128(data)
	if aToB {
		return limit.IsZero() || limit == minPrice
	}
	return limit.IsZero() || limit == maxPrice
}
