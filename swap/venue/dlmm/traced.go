package dlmm

import "github.com/mintlake/mintlake/swap/venue"

var _ venue.Arrayed = Venue{}

// Features of a swap.
const (
	featureExactOut venue.Features = 1 << iota
	featureFeeOnOutput
	featureOrders
	featureVariableFee
	featureTransferFee
)

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"exact_out", "fee_on_output", "limit_orders", "variable_fee", "transfer_fee"}
}

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program} }

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }
