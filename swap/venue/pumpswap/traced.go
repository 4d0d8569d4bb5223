package pumpswap

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

var _ venue.Venue = Venue{}

// Features of a swap. A swap without featureBuyOut and featureSale buys for an exact amount of the
// quote mint.
const (
	featureBuyOut venue.Features = 1 << iota
	featureSale
	featureTiers
	featureCreator
	featureCreatorRate
	featureMayhem
	featureCashback
	featureBoost
	// FeatureMultiHop says that the swap is a hop of multi_hop_swap, which older builds do not
	// have.
	FeatureMultiHop
)

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// Optional implements venue.Traced: builds before 0.4.0 do not have multi_hop_swap.
func (Venue) Optional() venue.Features { return FeatureMultiHop }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"buy_exact_out", "sale", "fee_tiers", "creator_fee", "creators_own_rate", "mayhem", "cashback", "boost", "multi_hop"}
}

// features returns the features of an order. An exact-out sale is made by selling an exact amount.
func (p *Pool) features(o venue.Order, side int) venue.Features {
	s, creator := &p.state, p.state.coinCreator != venue.Key{}
	return venue.Features(0).With(featureSale, side == base).With(featureBuyOut, side == quote && o.ExactOut).With(featureTiers, p.canonical).
		With(featureCreator, creator).With(featureCreatorRate, creator && p.config.creatorConfigurable && s.creatorRate != 0).
		With(featureMayhem, s.mayhem).With(featureCashback, s.cashback).With(featureBoost, s.virtual != [2]uint64{})
}

// Programs implements venue.Traced: the fee program computes the rates.
func (Venue) Programs() []venue.Key { return []venue.Key{Program, pumpfees.Program} }

// Trade implements venue.Traced.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const accounts, pool, user, userBase, userQuote = 17, 0, 1, 5, 6 // least number, and indexes
	const amount, size = 8, 24                                       // offset in the data, size
	if len(c.Accounts) < accounts || len(c.Data) < size {
		return venue.Trade{}, false
	}
	t := venue.Trade{
		Pool: c.Accounts[pool], User: c.Accounts[user], Source: c.Accounts[userQuote], Destination: c.Accounts[userBase],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]),
	}
	switch [8]byte(c.Data) {
	case buyIn:
	case buyOut:
		t.ExactOut = true
	case sell:
		t.Source, t.Destination = t.Destination, t.Source
	default:
		return venue.Trade{}, false
	}
	return t, true
}
