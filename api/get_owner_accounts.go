package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ownerAccountsResponse is the body of GET /owners/{owner}/accounts.
type ownerAccountsResponse struct {
	Owner pubkey.Key     `json:"owner"`
	Items []ownerAccount `json:"items"`
	Limit int            `json:"limit"`
	Next  *string        `json:"next"`
	balances.State
}

// ownerAccount is a row of GET /owners/{owner}/accounts.
type ownerAccount struct {
	Mint pubkey.Key `json:"mint"`
	tokenAccount
}

// getOwnerAccounts is GET /owners/{owner}/accounts: the open token accounts of an owner, by mint.
// It reads ClickHouse.
func (s *Server) getOwnerAccounts(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxHeld)
	if err != nil {
		return err
	}
	after, err := queryCursor(c, balances.ParseAccountCursor)
	if err != nil {
		return err
	}
	mint, err := queryMint(c)
	if err != nil {
		return err
	}
	owner, err := pathOwner(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	accounts, err := s.deps.Balances.OwnerAccounts(ctx, owner, mint, after, int(limit)+1)
	if err != nil {
		return s.balancesError(err)
	}
	response := ownerAccountsResponse{Owner: owner, Items: []ownerAccount{}, Limit: int(limit)}
	if len(accounts) > response.Limit {
		accounts = accounts[:response.Limit]
		next := balances.AccountCursorOf(&accounts[len(accounts)-1]).String()
		response.Next = &next
	}
	for i := range accounts {
		response.Items = append(response.Items, ownerAccount{accounts[i].Mint, accountRow(&accounts[i])})
	}
	if response.State, err = s.completeAccounts(ctx, mint, accounts); err != nil {
		return s.balancesError(err)
	}
	return c.JSON(response)
}

// completeAccounts returns the state of a list of an owner's accounts. If mint is not nil, only
// accounts of that mint are listed, and the list is as complete as the mint. Otherwise it is
// complete only if each listed mint is complete, and the node knows all accounts of all mints: the
// owner may have accounts of mints that are not listed.
func (s *Server) completeAccounts(ctx context.Context, mint *pubkey.Key, accounts []balances.Account) (balances.State, error) {
	mints := make([]pubkey.Key, 0, len(accounts)+1)
	if mint != nil {
		mints = append(mints, *mint)
	}
	for i := range accounts {
		if len(mints) == 0 || accounts[i].Mint != mints[len(mints)-1] {
			mints = append(mints, accounts[i].Mint)
		}
	}
	states, err := s.deps.Balances.States(ctx, mints)
	if err != nil {
		return balances.State{}, err
	}
	state := joinStates(states, len(mints))
	if mint != nil {
		return state, nil
	}
	since, err := s.deps.Balances.AllSince(ctx)
	if err != nil {
		return balances.State{}, err
	}
	if state.Complete = since > 0 && (state.Complete || len(mints) == 0); since > 0 {
		state.SinceSlot = laterSlot(state.SinceSlot, &since)
	}
	return state, nil
}
