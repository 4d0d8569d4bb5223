package api

import (
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// accountsResponse is the body of GET /tokens/{mint}/accounts.
type accountsResponse struct {
	Mint      pubkey.Key     `json:"mint"`
	Decimals  uint8          `json:"decimals"`
	IsToken22 bool           `json:"is_token22"`
	Supply    *string        `json:"supply"`
	Items     []tokenAccount `json:"items"`
	balances.State
}

// tokenAccount is a row of GET /tokens/{mint}/accounts.
type tokenAccount struct {
	Account pubkey.Key  `json:"account"`
	Owner   *pubkey.Key `json:"owner"`
	Amount  string      `json:"amount"`
	// IsFrozen is nil if it is not known.
	IsFrozen *bool `json:"is_frozen"`
	// Delegate may spend DelegatedAmount, a raw amount. Both are nil if there is no delegate, or if
	// that is not known.
	Delegate        *pubkey.Key `json:"delegate"`
	DelegatedAmount *string     `json:"delegated_amount"`
}

func accountRow(a *balances.Account) tokenAccount {
	row := tokenAccount{Account: a.Account, Owner: optionalKey(a.Owner), Amount: a.Amount, IsFrozen: a.Frozen}
	if a.Delegate != nil && a.DelegatedAmount != nil {
		amount := strconv.FormatUint(*a.DelegatedAmount, 10)
		row.Delegate, row.DelegatedAmount = optionalKey(*a.Delegate), &amount
	}
	return row
}

// getAccounts is GET /tokens/{mint}/accounts: the token accounts of a mint, those with the most
// first. It reads ClickHouse.
func (s *Server) getAccounts(c *fiber.Ctx) error {
	limit, err := queryInteger(c, "limit", defaultLimit, maxLimit)
	if err != nil {
		return err
	}
	mint, err := s.balancesMint(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.UserContext())
	accounts, err := s.deps.Balances.Accounts(ctx, mint, int(limit))
	if err != nil {
		return s.balancesError(err)
	}
	states, err := s.deps.Balances.States(ctx, []pubkey.Key{mint})
	if err != nil {
		return s.balancesError(err)
	}
	token := s.replica.Lookup(mint)
	if token == nil {
		return unknownMint(mint.String())
	}
	response := accountsResponse{Mint: mint, Decimals: token.Decimals, IsToken22: token.IsToken22, Supply: token.Supply, Items: make([]tokenAccount, 0, len(accounts)), State: states[mint]}
	for i := range accounts {
		response.Items = append(response.Items, accountRow(&accounts[i]))
	}
	return c.JSON(response)
}
