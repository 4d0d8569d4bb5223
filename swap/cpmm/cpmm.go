// Package cpmm knows Raydium's constant-product venue (CPMM): how to find its pools, what they
// give, and how to swap on them.
//
// In: accounts of the chain, hostile. Out: quotes that equal the program's own arithmetic, and its
// instructions.
// Guarantees: decoding and arithmetic are pure and never panic; a pool that is not what its address
// should hold gives an error.
//
// Written from the layouts and formulas of raydium-io/raydium-cp-swap@609780f (Apache-2.0). Without
// a creator fee the arithmetic is held against runs of the program itself (the test vectors); the
// creator fee is newer than that program and stands on the source alone.
package cpmm

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/tokenaccount"
	"github.com/mintlake/mintlake/swap/venue"
)

// Name of the venue, as in the swaps table.
const Name = "raydium_cpmm"

var (
	// Program id of CPMM.
	Program = mustKey("CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C")
	// Authority over all vaults: the program derived address of "vault_and_lp_mint_auth_seed".
	Authority = mustKey("GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL")
)

func mustKey(text string) venue.Key {
	key, err := tokenaccount.ParseKey(text)
	if err != nil {
		panic("cpmm: " + text + ": " + err.Error())
	}
	return venue.Key(key)
}

// Caller makes JSON-RPC calls: *solana.Client.
type Caller interface {
	Call(ctx context.Context, method string, params []any, result any) error
}

// Venue finds pools over JSON-RPC.
type Venue struct {
	rpc        Caller
	commitment solana.Commitment
	maxPools   int
}

// New makes a venue. At most maxPools pools of one pair are returned: anyone can open pools, and
// all of them are read for a quote.
func New(rpc Caller, commitment solana.Commitment, maxPools int) *Venue {
	return &Venue{rpc: rpc, commitment: commitment, maxPools: maxPools}
}

// Name of the venue.
func (v *Venue) Name() string { return Name }

type memcmp struct {
	Offset   int    `json:"offset"`
	Bytes    string `json:"bytes"`
	Encoding string `json:"encoding"`
}

type filter struct {
	DataSize int     `json:"dataSize,omitempty"`
	Memcmp   *memcmp `json:"memcmp,omitempty"`
}

type programAccount struct {
	Pubkey  string `json:"pubkey"`
	Account struct {
		Data []string `json:"data"`
	} `json:"account"`
}

// Find lists the pools that trade a for b, in either direction, by one getProgramAccounts. The
// program orders a pool's mints by their bytes (initialize.rs), so one order is enough. Beyond
// maxPools, those with the greatest LP supply are kept. An account that is no pool is left out.
func (v *Venue) Find(ctx context.Context, a, b venue.Key) ([]venue.Ref, error) {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	options := map[string]any{
		"encoding": "base64", "commitment": v.commitment,
		"filters": []filter{
			{DataSize: PoolSize},
			{Memcmp: &memcmp{poolMint0, venue.Text(a), "base58"}},
			{Memcmp: &memcmp{poolMint1, venue.Text(b), "base58"}},
		},
	}
	var found []programAccount
	if err := v.rpc.Call(ctx, "getProgramAccounts", []any{venue.Text(Program), options}, &found); err != nil {
		return nil, fmt.Errorf("find pools: %w", err)
	}
	refs := make([]*ref, 0, len(found))
	for i := range found {
		r, err := found[i].ref()
		if err != nil || r.state.Mints != [2]venue.Key{a, b} {
			continue
		}
		refs = append(refs, r)
	}
	slices.SortFunc(refs, func(x, y *ref) int {
		switch {
		case x.state.LPSupply > y.state.LPSupply:
			return -1
		case x.state.LPSupply < y.state.LPSupply:
			return 1
		}
		return bytes.Compare(x.address[:], y.address[:])
	})
	list := make([]venue.Ref, min(len(refs), v.maxPools))
	for i := range list {
		list[i] = refs[i]
	}
	return list, nil
}

func (p *programAccount) ref() (*ref, error) {
	address, err := tokenaccount.ParseKey(p.Pubkey)
	if err != nil {
		return nil, err
	}
	if len(p.Account.Data) == 0 {
		return nil, errMalformed
	}
	data, err := base64.StdEncoding.DecodeString(p.Account.Data[0])
	if err != nil {
		return nil, err
	}
	state, err := DecodePool(data)
	if err != nil {
		return nil, err
	}
	return &ref{address: venue.Key(address), state: state}, nil
}
