package cli

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client/rest"
)

// transfersArgs are the arguments of the tool token_transfers.
type transfersArgs struct {
	Mint      string `json:"mint,omitempty" jsonschema:"mint address, base58, or a symbol; needed without an owner"`
	Owner     string `json:"owner,omitempty" jsonschema:"address of a wallet, base58; without it the transfers of the mint"`
	Direction string `json:"direction,omitempty" jsonschema:"with an owner: in or out; both by default"`
	Kind      string `json:"kind,omitempty" jsonschema:"transfer, mint, burn and others; all by default"`
	Limit     int32  `json:"limit,omitempty" jsonschema:"transfers, 1 to 100; 20 by default"`
	Cursor    string `json:"cursor,omitempty" jsonschema:"the next of the page before, for older transfers"`
}

// dropOfTransfer are the members of a transfer that are of no use to a model.
var dropOfTransfer = []string{"instruction_index", "inner_instruction_index", "batch_index", "from_account", "to_account"}

func (a *ask) addTransfers(server *mcp.Server) {
	tool(server, "token_transfers", "List transfers, mints and burns of one token, or of a wallet, newest first: owners on both sides, amounts (raw units), signature."+toldWhole, a.transfersTool)
}

// transfersTool is the tool token_transfers.
func (a *ask) transfersTool(ctx context.Context, in transfersArgs) (*told, error) {
	if in.Mint == "" && in.Owner == "" {
		return nil, errors.New("name a mint, an owner, or both")
	}
	t, mint := &told{}, ""
	if in.Mint != "" {
		var err error
		if mint, t, err = a.mintOf(ctx, in.Mint); err != nil {
			return nil, err
		}
	}
	kind, cursor := given(rest.TransferKind(in.Kind)), given(in.Cursor)
	t.more = "mintlake://tokens/" + mint + "/transfers"
	rows := func(limit *int32) ([]byte, error) {
		return body(a.REST.GetTransfersWithResponse(ctx, mint, &rest.GetTransfersParams{Limit: limit, Kind: kind, Cursor: cursor}))
	}
	if in.Owner != "" {
		t.more = "mintlake://owners/" + in.Owner + "/transfers"
		rows = func(limit *int32) ([]byte, error) {
			return body(a.REST.GetOwnerTransfersWithResponse(ctx, in.Owner, &rest.GetOwnerTransfersParams{
				Limit: limit, Kind: kind, Cursor: cursor, Mint: given(mint), Direction: given(rest.GetOwnerTransfersParamsDirection(in.Direction)),
			}))
		}
	}
	return t.page(in.Limit, 20, 100, dropOfTransfer, rows)
}
