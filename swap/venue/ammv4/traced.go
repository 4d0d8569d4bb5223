package ammv4

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
)

var _ venue.Venue = Venue{}

// featureExactOut is the only feature that a swap may have.
const featureExactOut venue.Features = 1

// Tags of the instructions that name accounts of the order book.
const (
	tagBookBaseIn  = 9
	tagBookBaseOut = 11
)

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string { return []string{"exact_out"} }

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program} }

// Trade implements venue.Traced. The user's three accounts are always the last.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const (
		// Numbers of accounts: without the order book, with it, and with it and the target orders.
		plain, book, bookAndTarget = 8, 17, 18
		pool                       = 1 // index of its account
		// Offsets of the two amounts in the data, and the size of the data.
		first, second, size = 1, 9, 17
	)
	count := len(c.Accounts)
	if len(c.Data) < size || count < plain {
		return venue.Trade{}, false
	}
	t := venue.Trade{Pool: c.Accounts[pool], User: c.Accounts[count-1], Source: c.Accounts[count-3], Destination: c.Accounts[count-2]}
	switch tag := c.Data[0]; {
	case tag == tagSwapBaseIn && count == plain, tag == tagBookBaseIn && (count == book || count == bookAndTarget):
		t.Amount = binary.LittleEndian.Uint64(c.Data[first:])
	case tag == tagSwapBaseOut && count == plain, tag == tagBookBaseOut && (count == book || count == bookAndTarget):
		t.Amount, t.ExactOut = binary.LittleEndian.Uint64(c.Data[second:]), true
	default:
		return venue.Trade{}, false
	}
	return t, true
}
