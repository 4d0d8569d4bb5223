// Package cpmm knows Raydium's constant-product venue (CPMM).
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a pool that is not what its address
// should hold gives an error.
//
// The code is written from the layouts and formulas of raydium-io/raydium-cp-swap@609780f
// (Apache-2.0). The arithmetic is checked against runs of the program itself (the test vectors),
// with a creator fee and without.
package cpmm

import (
	"bytes"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name is the name of the venue in the swaps table.
const Name = "raydium_cpmm"

var (
	// Program is the program id of CPMM.
	Program = pubkey.MustParse("CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C")
	// Authority is the authority over all vaults: the program derived address of
	// "vault_and_lp_mint_auth_seed".
	Authority = pubkey.MustParse("GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL")
)

// Venue is CPMM.
type Venue struct{}

// Name implements venue.Venue.
func (Venue) Name() string { return Name }

// Program implements venue.Venue.
func (Venue) Program() venue.Key { return Program }

// Lookup implements venue.Venue. The program orders a pool's mints by their bytes (initialize.rs),
// so one order is enough.
func (Venue) Lookup(a, b venue.Key) venue.Lookup {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	return venue.Lookup{Filters: []venue.Filter{{Size: PoolSize, MintsAt: [2]int{poolMint0, poolMint1}, Parts: []venue.Part{
		{Offset: poolMint0, Bytes: a[:]}, {Offset: poolMint1, Bytes: b[:]},
	}}}}
}

// Open implements venue.Venue.
func (Venue) Open(address venue.Key, data []byte, _ ...venue.Key) (venue.Ref, error) {
	if _, err := DecodePool(data); err != nil {
		return nil, err
	}
	return &ref{address, data}, nil
}
