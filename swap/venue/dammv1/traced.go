package dammv1

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
)

var _ venue.Venue = Venue{}

// Features of a swap.
const (
	featureConstant venue.Features = 1 << iota
	featureStable
	featureMarinade
	featureLido
	featureSPL
	featurePriceRead
	featureLockedProfit
)

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"constant_product", "stable", "marinade_price", "lido_price", "stake_pool_price", "price_read", "locked_profit"}
}

// Programs implements venue.Traced.
func (Venue) Programs() []venue.Key { return []venue.Key{Program, VaultProgram} }

// Trade implements venue.Traced.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, pool, source, destination, user = 15, 0, 1, 2, 12 // least number, and indexes
	const amount, size = 8, 24                                        // offset in the data, size
	if len(c.Accounts) < accounts || len(c.Data) < size || [8]byte(c.Data) != swapName {
		return venue.Trade{}, false
	}
	return venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[source], Destination: c.Accounts[destination],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]),
	}, true
}
