package cli

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client/rest"
)

// The arguments of the tools about balances.
type (
	holdersArgs struct {
		Mint    string   `json:"mint" jsonschema:"mint address, base58"`
		Limit   int32    `json:"limit,omitempty" jsonschema:"holders, 1 to 200; 20 by default"`
		Exclude []string `json:"exclude,omitempty" jsonschema:"kinds of owners to leave out: wallet, pool, curve, burn, program, unknown"`
		AtSlot  int64    `json:"at_slot,omitempty" jsonschema:"as of the end of this slot; now by default"`
		Cursor  string   `json:"cursor,omitempty" jsonschema:"the next of the page before"`
	}
	ownerArgs struct {
		Owner  string `json:"owner" jsonschema:"address of a wallet, base58"`
		Limit  int32  `json:"limit,omitempty" jsonschema:"tokens, 1 to 200; 50 by default"`
		AtSlot int64  `json:"at_slot,omitempty" jsonschema:"as of the end of this slot; now by default"`
		Cursor string `json:"cursor,omitempty" jsonschema:"the next of the page before"`
	}
	transfersArgs struct {
		Mint      string `json:"mint,omitempty" jsonschema:"mint address, base58; needed without an owner"`
		Owner     string `json:"owner,omitempty" jsonschema:"address of a wallet, base58; without it the transfers of the mint"`
		Direction string `json:"direction,omitempty" jsonschema:"with an owner: in or out; both by default"`
		Kind      string `json:"kind,omitempty" jsonschema:"transfer, mint, burn and others; all by default"`
		Limit     int32  `json:"limit,omitempty" jsonschema:"transfers, 1 to 100; 20 by default"`
		Cursor    string `json:"cursor,omitempty" jsonschema:"the next of the page before, for older transfers"`
	}
)

const toldWhole = " complete says whether the node has seen every change since since_slot: without it say so when you name a figure."

// addBalances adds the tools about holders, wallets and transfers.
func (a *ask) addBalances(server *mcp.Server) {
	tool(server, "token_holders", "List who holds one token, those with the most first: owner, owner_kind (wallet, pool, curve, burn, program), amount (raw units), share of the supply in percent, and the exact number of holders."+toldWhole,
		func(ctx context.Context, in holdersArgs) ([]byte, error) {
			params := &rest.GetHoldersParams{Limit: within(in.Limit, 20, 200), AtSlot: given(in.AtSlot), Cursor: given(in.Cursor)}
			if len(in.Exclude) > 0 {
				kinds := make([]rest.OwnerKind, 0, len(in.Exclude))
				for _, kind := range in.Exclude {
					kinds = append(kinds, rest.OwnerKind(kind))
				}
				params.Exclude = &kinds
			}
			answer, err := a.REST.GetHoldersWithResponse(ctx, in.Mint, params)
			if err != nil {
				return nil, err
			}
			return answer.Body, nil
		})
	tool(server, "owner_tokens", "List what a wallet holds, the highest value first: tokens, amounts (raw units), prices and values in US dollars. Native SOL is not among them."+toldWhole+writtenByCreators,
		func(ctx context.Context, in ownerArgs) ([]byte, error) {
			answer, err := a.REST.GetOwnerTokensWithResponse(ctx, in.Owner, &rest.GetOwnerTokensParams{Limit: within(in.Limit, 50, 200), AtSlot: given(in.AtSlot), Cursor: given(in.Cursor)})
			if err != nil {
				return nil, err
			}
			return answer.Body, nil
		})
	tool(server, "token_transfers", "List transfers, mints and burns of one token, or of a wallet, newest first: owners on both sides, amounts (raw units), signature."+toldWhole,
		func(ctx context.Context, in transfersArgs) ([]byte, error) {
			limit, kind := within(in.Limit, 20, 100), given(rest.TransferKind(in.Kind))
			if in.Owner == "" {
				answer, err := a.REST.GetTransfersWithResponse(ctx, in.Mint, &rest.GetTransfersParams{Limit: limit, Kind: kind, Cursor: given(in.Cursor)})
				if err != nil {
					return nil, err
				}
				return answer.Body, nil
			}
			answer, err := a.REST.GetOwnerTransfersWithResponse(ctx, in.Owner, &rest.GetOwnerTransfersParams{
				Limit: limit, Kind: kind, Cursor: given(in.Cursor), Mint: given(in.Mint), Direction: given(rest.GetOwnerTransfersParamsDirection(in.Direction)),
			})
			if err != nil {
				return nil, err
			}
			return answer.Body, nil
		})
}
