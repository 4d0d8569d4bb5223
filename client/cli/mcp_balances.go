package cli

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client/rest"
)

// The arguments of the tools about balances.
type (
	holdersArgs struct {
		Mint    string           `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Limit   int32            `json:"limit,omitempty" jsonschema:"holders, 1 to 200; 20 by default"`
		Exclude []rest.OwnerKind `json:"exclude,omitempty" jsonschema:"kinds of owners to leave out: wallet, pool, curve, burn, program, unknown"`
		AtSlot  int64            `json:"at_slot,omitempty" jsonschema:"as of the end of this slot; now by default"`
		Cursor  string           `json:"cursor,omitempty" jsonschema:"the next of the page before"`
	}
	hoursArgs struct {
		Mint  string `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		From  int64  `json:"from,omitempty" jsonschema:"only hours at or after this time, Unix seconds"`
		To    int64  `json:"to,omitempty" jsonschema:"only hours before this time, Unix seconds"`
		Limit int32  `json:"limit,omitempty" jsonschema:"hours, 1 to 500; 48 by default"`
	}
	accountsArgs struct {
		Mint  string `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Limit int32  `json:"limit,omitempty" jsonschema:"accounts, 1 to 100; 20 by default"`
	}
	ownerArgs struct {
		Owner  string `json:"owner" jsonschema:"address of a wallet, base58"`
		Limit  int32  `json:"limit,omitempty" jsonschema:"tokens, 1 to 200; 50 by default"`
		AtSlot int64  `json:"at_slot,omitempty" jsonschema:"as of the end of this slot; now by default"`
		Cursor string `json:"cursor,omitempty" jsonschema:"the next of the page before"`
	}
	ownerAccountsArgs struct {
		Owner  string `json:"owner" jsonschema:"address of a wallet, base58"`
		Mint   string `json:"mint,omitempty" jsonschema:"only accounts of this mint: address, base58, or a symbol"`
		Limit  int32  `json:"limit,omitempty" jsonschema:"accounts, 1 to 100; 20 by default"`
		Cursor string `json:"cursor,omitempty" jsonschema:"the next of the page before"`
	}
)

// toldWhole is a part of the descriptions of tools that tell balances.
const toldWhole = " complete says whether the node has seen every change since since_slot: without it say so when you name a figure."

// addBalances adds the tools about holders, wallets and transfers.
func (a *ask) addBalances(server *mcp.Server) {
	a.addHolders(server)
	a.addOwners(server)
	a.addTransfers(server)
}

func (a *ask) addHolders(server *mcp.Server) {
	tool(server, "token_holders", "List who holds one token, those with the most first: owner, owner_kind (wallet, pool, curve, burn, program), amount (raw units), share of the supply in percent, and the exact number of holders."+toldWhole,
		func(ctx context.Context, in holdersArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint + "/holders"
			return t.page(in.Limit, 20, 200, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetHoldersWithResponse(ctx, mint, &rest.GetHoldersParams{Limit: limit, AtSlot: given(in.AtSlot), Cursor: given(in.Cursor), Exclude: list(in.Exclude)}))
			})
		})
	tool(server, "holders_over_time", "How many hold one token, by the hour, oldest first.",
		func(ctx context.Context, in hoursArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			return t.page(in.Limit, 48, 500, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetHoldersHistoryWithResponse(ctx, mint, &rest.GetHoldersHistoryParams{From: given(in.From), To: given(in.To), Limit: limit}))
			})
		})
	tool(server, "token_accounts", "List the token accounts of one token, those with the most first: account, owner, amount (raw units), delegate, whether it is frozen."+toldWhole,
		func(ctx context.Context, in accountsArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint + "/accounts"
			return t.page(in.Limit, 20, 100, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetAccountsWithResponse(ctx, mint, &rest.GetAccountsParams{Limit: limit}))
			})
		})
}

func (a *ask) addOwners(server *mcp.Server) {
	tool(server, "owner_tokens", "List what a wallet holds, the highest value first: tokens, amounts (raw units), prices and values in US dollars. Native SOL is not among them."+toldWhole+writtenByCreators,
		func(ctx context.Context, in ownerArgs) (*told, error) {
			t := &told{more: "mintlake://owners/" + in.Owner + "/tokens"}
			return t.page(in.Limit, 50, 200, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetOwnerTokensWithResponse(ctx, in.Owner, &rest.GetOwnerTokensParams{Limit: limit, AtSlot: given(in.AtSlot), Cursor: given(in.Cursor)}))
			})
		})
	tool(server, "owner_accounts", "List the token accounts of a wallet, by mint: account, amount (raw units), delegate, whether it is frozen."+toldWhole,
		func(ctx context.Context, in ownerAccountsArgs) (*told, error) {
			t, mint := &told{}, ""
			if in.Mint != "" {
				var err error
				if mint, t, err = a.mintOf(ctx, in.Mint); err != nil {
					return nil, err
				}
			}
			t.more = "mintlake://owners/" + in.Owner + "/accounts"
			return t.page(in.Limit, 20, 100, nil, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetOwnerAccountsWithResponse(ctx, in.Owner, &rest.GetOwnerAccountsParams{Limit: limit, Cursor: given(in.Cursor), Mint: given(mint)}))
			})
		})
}
