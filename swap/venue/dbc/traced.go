package dbc

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
)

var _ venue.Venue = Venue{}

// Features of a swap.
const (
	featureExactOut venue.Features = 1 << iota
	featureFeeOnInput
	featureFeeInOutput
	featureSchedule
	featureExponential
	featureLimiter
	featureDynamicFee
	featureTransferFee
)

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"exact_out", "fee_on_input", "fee_in_output", "fee_schedule", "exponential", "rate_limiter", "dynamic_fee", "transfer_fee"}
}

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program} }

// Trade implements venue.Traced. A partial fill (mode 1 of swap2) is not a trade, as no order can
// express it.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, pool, source, destination, user = 13, 2, 3, 4, 9 // least number, and indexes
	// Offsets of the first amount and of swap2's mode in the data, and the size without the mode.
	const amount, mode, size = 8, 24, 24
	if len(c.Accounts) < accounts || len(c.Data) < size {
		return venue.Trade{}, false
	}
	t := venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[source], Destination: c.Accounts[destination],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]),
	}
	switch [8]byte(c.Data) {
	case swap1:
		return t, true
	case swap2:
		if len(c.Data) <= mode {
			return venue.Trade{}, false
		}
		t.ExactOut = c.Data[mode] == modeExactOut
		return t, t.ExactOut || c.Data[mode] == modeExactIn
	}
	return venue.Trade{}, false
}
