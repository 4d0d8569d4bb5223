package das

import (
	"context"
	"encoding/json"
	"math/big"
	"slices"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// holding is what an owner has of one token.
type holding struct {
	mint     pubkey.Key
	token    *token
	accounts []*owned
}

// searchOwned answers searchAssets, or getAssetsByOwner, for the fungible tokens of an owner,
// sorted by mint. The caller has checked tokenType.
func (s *Server) searchOwned(ctx context.Context, method string, members map[string]json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	q, unknown, err := parseOwner(members, "ownerAddress")
	if unknown != "" {
		return nil, refuse(ask, "the registry cannot search an owner's tokens by %.60q", unknown)
	}
	if err != nil {
		return nil, err
	}
	all, why, err := s.accounts(ctx, &q)
	if err != nil || why != "" {
		return nil, notAnswered(err, ask, method, why)
	}
	holdings, err := s.holdings(ctx, all)
	if err != nil {
		return nil, err
	}
	page, cursor := pageOf(&q, holdings, func(h *holding) pubkey.Key { return h.mint })
	list := assetList{Total: len(page), Limit: q.limit, Page: q.pageNumber(), Cursor: cursor, Items: []*asset{}}
	if total := len(holdings); q.grandTotal {
		list.GrandTotal = &total
	}
	for i := range page {
		a := page[i].asset(q.owner)
		if a == nil {
			return nil, refuse(ask, "%s cannot be answered: it is not known who may spend the owner's %s, or whether its account is frozen", method, page[i].mint)
		}
		list.Items = append(list.Items, a)
	}
	return encode(list)
}

// holdings groups accounts by mint, the mints in ascending order. It leaves out mints that the
// registry does not list: they are no fungible tokens.
func (s *Server) holdings(ctx context.Context, accounts []owned) ([]holding, error) {
	slices.SortFunc(accounts, func(a, b owned) int { return pubkey.Compare(a.Mint, b.Mint) })
	var mints []pubkey.Key
	var all []holding
	for i := range accounts {
		a := &accounts[i]
		if len(all) == 0 || all[len(all)-1].mint != a.Mint {
			mints, all = append(mints, a.Mint), append(all, holding{mint: a.Mint})
		}
		last := &all[len(all)-1]
		last.accounts = append(last.accounts, a)
	}
	found, err := s.tokens(ctx, mints)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].token = found[all[i].mint]
	}
	return slices.DeleteFunc(all, func(h holding) bool { return h.token == nil }), nil
}

// asset returns the token as the owner's asset; nil if something about one of the accounts is not
// known. The balance is the sum of all accounts. Frozen says that all accounts are frozen,
// Delegated that at least one has a delegate.
func (h *holding) asset(owner pubkey.Key) *asset {
	a, sum := h.token.asset(), new(big.Int)
	a.Ownership.Owner, a.Ownership.Frozen = owner.String(), true
	for _, account := range h.accounts {
		amount, ok := new(big.Int).SetString(account.Amount, 10)
		if !ok || !account.fullyKnown() {
			return nil
		}
		sum.Add(sum, amount)
		a.Ownership.Frozen = a.Ownership.Frozen && *account.IsFrozen
		if account.Delegate != nil {
			a.Ownership.Delegated = true
			if len(h.accounts) == 1 {
				a.Ownership.Delegate = account.Delegate.String()
			}
		}
	}
	a.TokenInfo.Balance = json.Number(sum.String())
	return a
}
