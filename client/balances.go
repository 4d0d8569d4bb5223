package client

import (
	"context"

	"github.com/mintlake/mintlake/client/rest"
)

// Accounts is GET /tokens/{mint}/accounts: the token accounts of a mint, those with the most first.
func (c *Client) Accounts(ctx context.Context, mint string, params *rest.GetAccountsParams) (*rest.AccountsResponse, error) {
	answer, err := c.REST.GetAccountsWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// Holders is GET /tokens/{mint}/holders: one page of the holders of a mint, those with the most
// first.
func (c *Client) Holders(ctx context.Context, mint string, params *rest.GetHoldersParams) (*rest.HoldersResponse, error) {
	answer, err := c.REST.GetHoldersWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// HoldersHistory is GET /tokens/{mint}/holders/history: the number of holders by hour, oldest
// first.
func (c *Client) HoldersHistory(ctx context.Context, mint string, params *rest.GetHoldersHistoryParams) (*rest.HoldersHistoryResponse, error) {
	answer, err := c.REST.GetHoldersHistoryWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// Transfers is GET /tokens/{mint}/transfers: one page of the transfers of a mint, newest first.
func (c *Client) Transfers(ctx context.Context, mint string, params *rest.GetTransfersParams) (*rest.TransfersResponse, error) {
	answer, err := c.REST.GetTransfersWithResponse(ctx, mint, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// OwnerAccounts is GET /owners/{owner}/accounts: one page of the token accounts of an owner, by
// mint.
func (c *Client) OwnerAccounts(ctx context.Context, owner string, params *rest.GetOwnerAccountsParams) (*rest.OwnerAccountsResponse, error) {
	answer, err := c.REST.GetOwnerAccountsWithResponse(ctx, owner, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// OwnerTokens is GET /owners/{owner}/tokens: one page of what a wallet holds, the highest value
// first. The tokens of a wallet with more than 10,000 are sorted by mint: see
// OwnerTokensResponse.Sort.
func (c *Client) OwnerTokens(ctx context.Context, owner string, params *rest.GetOwnerTokensParams) (*rest.OwnerTokensResponse, error) {
	answer, err := c.REST.GetOwnerTokensWithResponse(ctx, owner, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}

// OwnerTransfers is GET /owners/{owner}/transfers: one page of the transfers of a wallet, newest
// first.
func (c *Client) OwnerTransfers(ctx context.Context, owner string, params *rest.GetOwnerTransfersParams) (*rest.OwnerTransfersResponse, error) {
	answer, err := c.REST.GetOwnerTransfersWithResponse(ctx, owner, params)
	if err != nil {
		return nil, err
	}
	return whole(answer.JSON200)
}
