package main

import (
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/swap/venue/dlmm"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
	demo "github.com/mintlake/mintlake/testworld/chain"
)

// deepPools are the demo chain's first pools of wrapped SOL and USDC on the venues whose pools hold
// their liquidity in arrays.
func deepPools() (list []*pool, err error) {
	g, err := demo.New(demo.Config{Seed: 1, TPS: 1, Tokens: 1, Wallets: 8})
	if err != nil {
		return nil, err
	}
	held := map[pubkey.Key]*solana.Account{}
	order := []pubkey.Key{}
	for _, w := range g.Genesis() {
		held[w.Key] = &solana.Account{Owner: w.Account.Owner, Lamports: w.Account.Lamports, Data: w.Account.Data}
		order = append(order, w.Key)
	}
	for _, v := range []venue.Venue{clmm.Raydium, whirlpool.Venue{}, dlmm.Venue{}} {
		p, err := deepPool(v, held, order)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// deepPool opens a venue's first pool, and takes all accounts that its quotes need.
func deepPool(v venue.Venue, held map[pubkey.Key]*solana.Account, order []pubkey.Key) (*pool, error) {
	for _, key := range order {
		if held[key].Owner != v.Program() {
			continue
		}
		ref, err := v.Open(key, held[key].Data)
		if err != nil {
			continue // another account of the program
		}
		p := &pool{venue: v, mints: ref.Mints()}
		for _, key := range slices.Concat(ref.Accounts(), ref.(venue.Windowed).Near()) {
			// held[key] is nil where the account does not exist.
			p.accounts = append(p.accounts, account{key, held[key], false})
		}
		return p, nil
	}
	return nil, fmt.Errorf("the demo chain has no pool of %s", v.Name())
}
