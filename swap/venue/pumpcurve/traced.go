package pumpcurve

import (
	"encoding/binary"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
)

var _ venue.Venue = Venue{}

// Features of a swap. A swap without featureBuyOut and featureSale buys for an exact amount of the
// quote mint.
const (
	featureBuyOut venue.Features = 1 << iota
	featureSale
	featureToken
	featureCreator
	featureCreatorRate
	featureMayhem
	featureCashback
	featureBuckets
)

// Proof implements venue.Traced.
func (Venue) Proof() venue.Proof { return venue.ProofExecution }

// Optional implements venue.Traced.
func (Venue) Optional() venue.Features { return 0 }

// FeatureNames implements venue.Traced.
func (Venue) FeatureNames() []string {
	return []string{"buy_exact_out", "sale", "quoted_in_token", "creator_fee", "creators_own_rate", "mayhem", "cashback", "keeps_fees"}
}

// features returns the features of an order. An exact-out sale is made by selling an exact amount.
func (p *Pool) features(o venue.Order, side int) venue.Features {
	s, creator := &p.state, p.state.creator != venue.Key{}
	return venue.Features(0).With(featureSale, side == coin).With(featureBuyOut, side == quote && o.ExactOut).With(featureToken, s.quoteMint != venue.Key{}).
		With(featureCreator, creator).With(featureCreatorRate, creator && p.global.creatorConfigurable && s.creatorRate != 0).
		With(featureMayhem, s.mayhem).With(featureCashback, s.cashback).With(featureBuckets, s.buckets)
}

// Programs implements venue.Traced: the fee program computes the rates.
func (Venue) Programs() []venue.Key { return []venue.Key{Program, pumpfees.Program} }

// Discriminators of the first version of the instructions, which can only trade against SOL.
var (
	buyOutV1 = [8]byte{0x66, 0x06, 0x3d, 0x12, 0x01, 0xda, 0xeb, 0xea}
	buyInV1  = [8]byte{0x38, 0xfc, 0x74, 0x08, 0x9e, 0xdf, 0xcd, 0x5f}
	sellV1   = [8]byte{0x33, 0xe6, 0x85, 0xa4, 0x01, 0x7f, 0x83, 0xad}
)

// form is where an instruction has its accounts, and what it does.
type form struct {
	// accounts is the least number of accounts. The other fields are indexes of accounts. quoteMint
	// and userQuote are -1 in the first version, which has no such accounts.
	accounts, quoteMint, curve, user, userCoin, userQuote int
	sale, exactOut                                        bool
}

// formOf returns the form of an instruction by its discriminator. ok is false if the instruction is
// not a swap.
func formOf(discriminator [8]byte) (f form, ok bool) {
	v1 := form{accounts: 12, quoteMint: -1, curve: 3, user: 6, userCoin: 5, userQuote: -1}
	v2 := form{accounts: 26, quoteMint: 2, curve: 10, user: 13, userCoin: 14, userQuote: 15}
	v3 := form{accounts: 17, quoteMint: 2, curve: 5, user: 8, userCoin: 9, userQuote: 10}
	switch discriminator {
	case buyOutV1, buyInV1, sellV1:
		f = v1
	case buyOutV2, buyInV2, sellV2:
		f = v2
	case buyOutV3, buyInV3, sellV3:
		f = v3
	default:
		return f, false
	}
	f.sale = discriminator == sellV1 || discriminator == sellV2 || discriminator == sellV3
	f.exactOut = discriminator == buyOutV1 || discriminator == buyOutV2 || discriminator == buyOutV3
	return f, true
}

// Trade implements venue.Traced.
func (Venue) Trade(c venue.Call) (venue.Trade, bool) {
	const amount, size = 8, 24
	if len(c.Data) < size {
		return venue.Trade{}, false
	}
	f, ok := formOf([8]byte(c.Data))
	if !ok || len(c.Accounts) < f.accounts {
		return venue.Trade{}, false
	}
	t := venue.Trade{
		Pool: c.Accounts[f.curve], User: c.Accounts[f.user], Source: c.Accounts[f.user], Destination: c.Accounts[f.userCoin],
		Amount: binary.LittleEndian.Uint64(c.Data[amount:]), ExactOut: f.exactOut, Native: f.quoteMint < 0 || c.Accounts[f.quoteMint] == mint.WrappedSOL,
	}
	if !t.Native {
		t.Source = c.Accounts[f.userQuote]
	}
	if f.sale {
		t.Source, t.Destination = t.Destination, t.Source
	}
	return t, true
}
