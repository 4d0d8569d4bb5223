package das

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/mintlake/mintlake/gateway/jsonrpc"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// maxOwned bounds the accounts that are read for one owner: anybody can send a wallet a million
// tokens.
const maxOwned = 5000

// ownedPage is the answer of GET /owners/{owner}/accounts.
type ownedPage struct {
	Items    []owned `json:"items"`
	Next     *string `json:"next"`
	Complete bool    `json:"complete"`
}

// owned is a token account of an owner. A field that is nil is not known. Delegate is also nil if
// nobody may spend from the account.
type owned struct {
	Mint            pubkey.Key  `json:"mint"`
	Account         pubkey.Key  `json:"account"`
	Amount          string      `json:"amount"`
	IsFrozen        *bool       `json:"is_frozen"`
	Delegate        *pubkey.Key `json:"delegate"`
	DelegatedAmount *string     `json:"delegated_amount"`
}

// fullyKnown reports whether everything about the account is known.
func (o *owned) fullyKnown() bool { return o.IsFrozen != nil && o.DelegatedAmount != nil }

// refuse returns the error for a call that could only be answered with a guess. If there are
// upstreams, it is ErrElsewhere, so that they answer. Otherwise it has the text.
func refuse(ask jsonrpc.Ask, format string, args ...any) error {
	if ask != nil {
		return jsonrpc.ErrElsewhere
	}
	return jsonrpc.InvalidParams(format+"; no upstream is configured", args...)
}

// notAnswered returns err or, if err is nil, the error for a call that cannot be answered for the
// reason why.
func notAnswered(err error, ask jsonrpc.Ask, method, why string) error {
	if err != nil {
		return err
	}
	return refuse(ask, "%s cannot be answered: %s", method, why)
}

// accounts returns the owner's accounts. It leaves out empty ones, unless q asks for them. If not
// all accounts are known, list is nil and why is the reason.
func (s *Server) accounts(ctx context.Context, q *ownerQuery) (list []owned, why string, err error) {
	query := url.Values{"limit": {strconv.Itoa(maxLimit)}}
	if q.mint != nil {
		query.Set("mint", q.mint.String())
	}
	for read := 0; read < maxOwned; {
		page := &ownedPage{}
		err := s.request(ctx, http.MethodGet, "/owners/"+q.owner.String()+"/accounts?"+query.Encode(), nil, page)
		switch {
		case errors.Is(err, errAbsent):
			return nil, "no balances are kept", nil
		case err != nil:
			return nil, "", err
		case !page.Complete:
			return nil, "not all accounts of this owner are known", nil
		}
		for i := range page.Items {
			if a := &page.Items[i]; q.withEmpty || a.Amount != "0" {
				list = append(list, *a)
			}
		}
		if read += len(page.Items); page.Next == nil || len(page.Items) == 0 {
			return list, "", nil
		}
		query.Set("cursor", *page.Next)
	}
	return nil, fmt.Sprintf("this owner has more than %d accounts", maxOwned), nil
}

// tokenAccount has the shape of TokenAccount in the crate helius 3.1.0, and of TokenAccounts in its
// JavaScript SDK.
type tokenAccount struct {
	Address         pubkey.Key  `json:"address"`
	Mint            pubkey.Key  `json:"mint"`
	Owner           pubkey.Key  `json:"owner"`
	Amount          json.Number `json:"amount"`
	Delegate        *pubkey.Key `json:"delegate,omitempty"`
	DelegatedAmount json.Number `json:"delegated_amount"`
	Frozen          bool        `json:"frozen"`
}

type tokenAccountList struct {
	Total         int            `json:"total"`
	Limit         int            `json:"limit"`
	Page          int            `json:"page,omitempty"`
	Cursor        string         `json:"cursor,omitempty"`
	TokenAccounts []tokenAccount `json:"token_accounts"`
}

// getTokenAccounts lists the token accounts of an owner, sorted by address. It answers only if all
// accounts of the owner are known.
func (s *Server) getTokenAccounts(ctx context.Context, members map[string]json.RawMessage, ask jsonrpc.Ask) (json.RawMessage, error) {
	if members["owner"] == nil {
		return nil, refuse(ask, "getTokenAccounts is answered for an owner: name it; holders of a mint are at GET /tokens/{mint}/holders of the token API")
	}
	q, unknown, err := parseOwner(members, "owner")
	if unknown != "" {
		return nil, refuse(ask, "getTokenAccounts cannot be answered with %.60q", unknown)
	}
	if err != nil {
		return nil, err
	}
	all, why, err := s.accounts(ctx, &q)
	if err != nil || why != "" {
		return nil, notAnswered(err, ask, getTokenAccounts, why)
	}
	slices.SortFunc(all, func(a, b owned) int { return pubkey.Compare(a.Account, b.Account) })
	page, cursor := pageOf(&q, all, func(a *owned) pubkey.Key { return a.Account })
	list := tokenAccountList{Total: len(page), Limit: q.limit, Page: q.pageNumber(), Cursor: cursor, TokenAccounts: []tokenAccount{}}
	for i := range page {
		a := &page[i]
		if !a.fullyKnown() {
			return nil, refuse(ask, "getTokenAccounts cannot be answered: it is not known who may spend from %s, or whether it is frozen", a.Account)
		}
		list.TokenAccounts = append(list.TokenAccounts, tokenAccount{
			Address: a.Account, Mint: a.Mint, Owner: q.owner, Amount: json.Number(a.Amount),
			Delegate: a.Delegate, DelegatedAmount: json.Number(*a.DelegatedAmount), Frozen: *a.IsFrozen,
		})
	}
	return encode(list)
}
