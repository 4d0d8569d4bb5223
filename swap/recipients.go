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
	holderAt        = 32
	holdingStateAt  = 108
	holdingKindAt   = 165
	holdingInit     = 1
	holdingFrozen   = 2
	holdingOfTokens = 2
)

const (
	ruleHolding = "must be a token account of dst_mint that exists"
	ruleFrozen  = "must not be frozen"
)

// recipients holds the accounts that a request wants to be paid to what they must be. Without such
// accounts it reads nothing.
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

// isHolding returns whether an account holds tokens. Of its data at least holdingKindAt+1 bytes
// were read, if it has as many.
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
