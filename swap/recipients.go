package swap

import (
	"context"
	"strings"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// Layout of a token account (spl-token, Account; spl-token-2022, AccountType).
const (
	holderAt        = 32  // offset of the owner's key, which follows the mint's
	holdingStateAt  = 108 // offset of the AccountState
	holdingKindAt   = 165 // offset of the AccountType, if there is one
	holdingInit     = 1   // AccountState: initialized
	holdingFrozen   = 2   // AccountState: frozen
	holdingOfTokens = 2   // AccountType: a token account
)

const (
	ruleHolding = "must be a token account of dst_mint that exists"
	ruleFrozen  = "must not be frozen"
)

// recipients reads the accounts to which a request wants something to be paid, and returns an error
// if one of them cannot get it. If the request names none, it reads nothing.
func (s *Server) recipients(ctx context.Context, r *request) error {
	named := []struct {
		field string
		key   *venue.Key
	}{{fieldDestination, r.destination}, {fieldFeeAccount, r.feeAccount}, {fieldNative, r.native}}
	if r.fee == 0 { // nothing is paid there
		named[1].key = nil
	}
	var keys []pubkey.Key
	for _, one := range named {
		if one.key != nil {
			keys = append(keys, *one.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	_, accounts, err := s.deps.RPC.GetMultipleAccounts(ctx, keys, solana.AccountOptions{Commitment: market.Commitment, DataSlice: &solana.DataSlice{Length: holdingKindAt + 1}})
	if err != nil {
		return away(err)
	}
	for _, one := range named {
		if one.key == nil {
			continue
		}
		account := accounts[0]
		accounts = accounts[1:]
		if err := r.pays(one.field, one.key, account); err != nil {
			return err
		}
	}
	return nil
}

// pays returns an error if an account cannot get what a parameter says it gets.
func (r *request) pays(field string, key *venue.Key, account *solana.Account) error {
	if field == fieldNative {
		if account != nil && (account.Owner == mint.Token || account.Owner == mint.Token2022) {
			return invalid(field, key.String(), "must be no token account: give "+fieldDestination)
		}
		return nil
	}
	switch data := dataOf(account); {
	case !isHolding(account) || venue.Key(data[:holderAt]) != r.target:
		return invalid(field, key.String(), strings.Replace(ruleHolding, fieldTarget, r.target.String(), 1))
	case data[holdingStateAt] == holdingFrozen:
		return invalid(field, key.String(), ruleFrozen)
	case field == fieldDestination && r.fee > 0 && (r.user == nil || venue.Key(data[holderAt:2*holderAt]) != *r.user):
		return invalid(field, key.String(), "must belong to the user if "+fieldFee+" takes a part")
	}
	return nil
}

func dataOf(account *solana.Account) []byte {
	if account == nil {
		return nil
	}
	return account.Data
}

// isHolding returns whether an account is a token account. The caller has read at least the first
// holdingKindAt+1 bytes of its data, if it has as many.
func isHolding(account *solana.Account) bool {
	data := dataOf(account)
	switch {
	case len(data) < holdingKindAt || data[holdingStateAt] != holdingInit && data[holdingStateAt] != holdingFrozen:
		return false
	case account.Owner == mint.Token:
		return len(data) == holdingKindAt
	}
	return account.Owner == mint.Token2022 && (len(data) == holdingKindAt || data[holdingKindAt] == holdingOfTokens)
}
