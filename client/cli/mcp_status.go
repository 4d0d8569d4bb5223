package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
)

// coverageArgs are the arguments of the tool coverage.
type coverageArgs struct {
	Mint string `json:"mint,omitempty" jsonschema:"mint address, base58, or a symbol: tells of its balances, too"`
}

// coverageAnswer is the answer of the tool coverage.
type coverageAnswer struct {
	Ready     bool     `json:"ready"`
	Reasons   []string `json:"reasons"`
	Coverage  any      `json:"coverage"`
	Freshness any      `json:"freshness"`
	Lag       *int     `json:"lag_records"`
	Tokens    int      `json:"tokens"`
	Balances  any      `json:"balances,omitempty"`
}

// balancesCoverage says how completely the balances of one mint are known.
type balancesCoverage struct {
	Mint      string `json:"mint"`
	Complete  bool   `json:"complete"`
	SinceSlot any    `json:"since_slot"`
	AsOfSlot  any    `json:"as_of_slot"`
}

// addStatus adds the tools about the node itself.
func (a *ask) addStatus(server *mcp.Server) {
	tool(server, "registry_status", "How far, how fresh and how complete the registry is, with its parts, its source and what it does not know.", func(ctx context.Context, _ struct{}) (*told, error) {
		text, err := body(a.REST.GetStatusWithResponse(ctx))
		return (&told{more: "mintlake://status"}).whole(short{drop: []string{"topics"}, rows: 10}, text, err)
	})
	tool(server, "coverage", "Whether an answer can be trusted to be whole: slots that were ingested without gaps, how far behind the chain the node is, and for a mint whether every change of its balances is counted.", a.coverageTool)
}

// coverageTool is the tool coverage.
func (a *ask) coverageTool(ctx context.Context, in coverageArgs) (*told, error) {
	t := &told{more: "mintlake://status"}
	status, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	answer := coverageAnswer{
		Ready: status.Ready, Reasons: status.Reasons, Coverage: status.Coverage, Freshness: status.Freshness, Lag: status.Pipeline.LagRecords, Tokens: status.Registry.Tokens,
	}
	if in.Mint != "" {
		mint, about, err := a.mintOf(ctx, in.Mint)
		if err != nil {
			return nil, err
		}
		t.notes = about.notes
		one, refused := int32(1), new(client.Error)
		held, err := a.Holders(ctx, mint, &rest.GetHoldersParams{Limit: &one})
		switch {
		case errors.As(err, &refused): // no balances of the mint are kept
			answer.Balances = map[string]string{"mint": mint, "unknown": refused.Message}
		case err != nil:
			return nil, err
		default:
			answer.Balances = balancesCoverage{mint, held.Complete, held.SinceSlot, held.AsOfSlot}
		}
	}
	text, err := json.Marshal(answer)
	return t.whole(short{rows: 20}, text, err)
}
