package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue/dammv1"
	"github.com/mintlake/mintlake/swap/venue/dbc"
)

// meteoraPools returns recorded pools of Meteora's venues that no template makes: curves of both
// ways to collect fees, and a pool of DAMM v1 with both kinds of curves.
func meteoraPools() (pools []*pool, err error) {
	for _, form := range []string{"quote", "both"} {
		p, err := curvePool(form)
		if err != nil {
			return nil, err
		}
		pools = append(pools, p)
	}
	for _, stable := range []bool{true, false} {
		p, err := sharesPool(stable)
		if err != nil {
			return nil, err
		}
		pools = append(pools, p)
	}
	return pools, nil
}

// curvePool is a recorded curve that collects its fees in the quote token, or in both.
func curvePool(fees string) (*pool, error) {
	// Of the pool's account: its config and its coin. Of the config: the quote token.
	const config, coin, quote = 72, 136, 8
	var data [2][]byte
	for i, kind := range []string{"pool", "config"} {
		var err error
		if data[i], err = os.ReadFile(filepath.Join(vectors, "meteora-dbc", "fixtures", "fee_in_"+fees+"_"+kind+".bin")); err != nil {
			return nil, err
		}
	}
	owned := func(data []byte) *solana.Account { return &solana.Account{Owner: dbc.Program, Lamports: 1, Data: data} }
	return &pool{
		venue: dbc.Venue{}, form: ", fees in " + fees, mints: [2]pubkey.Key{pubkey.Key(data[0][coin:]), pubkey.Key(data[1][quote:])},
		accounts: []account{{swaptest.Named("curve"), owned(data[0]), true}, {pubkey.Key(data[0][config:]), owned(data[1]), false}},
	}, nil
}

// sharesPool is a recorded pool of DAMM v1: its stable curve with the price of mSOL, or a constant
// product in its place.
func sharesPool(stable bool) (*pool, error) {
	const address, mints, curve = "HcjZvfeSNJbNkfLD4eEcRBr96AD3w1GpmMppaeRZf7ur", 40, 874
	folder := filepath.Join(vectors, "meteora-damm-v1", "accounts")
	p := &pool{venue: dammv1.Venue{}, form: ", constant product"}
	if stable {
		p.form = ", stable with the price of mSOL"
	}
	first, err := rpcAccount(folder, address)
	if err != nil {
		return nil, err
	}
	first.Data = bytes.Clone(first.Data)
	if !stable {
		first.Data[curve] = 0
	}
	for side := range p.mints {
		p.mints[side] = pubkey.Key(first.Data[mints+32*side:])
	}
	p.accounts = []account{{pubkey.MustParse(address), first, true}}
	opened, err := p.venue.Open(pubkey.MustParse(address), first.Data)
	if err != nil {
		return nil, err
	}
	for _, key := range opened.Accounts()[1:] {
		one, err := rpcAccount(folder, key.String())
		if err != nil {
			return nil, err
		}
		p.accounts = append(p.accounts, account{key, one, false})
	}
	return p, nil
}

// rpcAccount reads an account as getAccountInfo has it.
func rpcAccount(folder, address string) (*solana.Account, error) {
	raw, err := os.ReadFile(filepath.Join(folder, address+".json"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Account struct {
			Data  []string
			Owner string
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil || len(file.Account.Data) == 0 {
		return nil, fmt.Errorf("%s: no account: %w", address, err)
	}
	data, err := base64.StdEncoding.DecodeString(file.Account.Data[0])
	if err != nil {
		return nil, err
	}
	owner, err := pubkey.Parse(file.Account.Owner)
	return &solana.Account{Owner: owner, Lamports: 1, Data: data}, err
}
