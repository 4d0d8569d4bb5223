// Package dammv1 knows Meteora's first dynamic AMM (DAMM v1), whose pools keep their tokens in
// vaults that many pools share.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; loops are bounded; a feature whose
// arithmetic nothing has proved is refused.
//
// The code is written from the account layouts and the formulas of damm-v1-sdk@02c66a3, and checked
// against runs of three builds of the program (the test vectors).
//
// A pool holds shares of two vaults, one for each of its tokens. What it can trade with is its part
// of a vault's amount. The profit that a vault has locked does not count; it unlocks with time. A
// swap puts tokens into one vault and takes tokens out of the other. Both transfers are rounded to
// whole shares.
package dammv1

import (
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name is the name of the venue in the swaps table.
const Name = "meteora_damm_v1"

var (
	// Program is the program id of DAMM v1, which owns the pools.
	Program = pubkey.MustParse("Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB")
	// VaultProgram is the program id of the vaults.
	VaultProgram = pubkey.MustParse("24Uqj9JCLxUeoC3hGfh5W3s9FM9uCHDS2SG3LYwBpyTi")
)

// Venue is DAMM v1.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. Either mint may be token a. The filters have no size, as the
// lengths of pool accounts differ by their age.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	filter := func(x, y venue.Key) venue.Filter {
		return venue.Filter{MintsAt: [2]int{poolMints, poolMints + keySize}, Parts: []venue.Part{
			{Offset: 0, Bytes: poolDiscriminator[:]}, {Offset: poolMints, Bytes: append(x[:], y[:]...)},
		}}
	}
	return venue.Lookup{Filters: []venue.Filter{filter(a, b), filter(b, a)}}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	s, err := decodeState(data)
	if err != nil {
		return nil, err
	}
	r := &ref{address: address, mints: s.mints, locked: s.locked, own: []venue.Key{address, s.shares[0], s.shares[1]}}
	for side, vault := range s.vaults {
		if r.vaults[side], err = addressesOf(vault); err != nil {
			return nil, err
		}
	}
	if s.curve.depeg != depegNone {
		r.stake = s.stakeAccount()
	}
	return r, nil
}
