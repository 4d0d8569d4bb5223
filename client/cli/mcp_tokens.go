package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client/rest"
)

// The arguments of the tools about tokens. From these types, the SDK makes the schema that the
// model reads.
type (
	searchArgs struct {
		Query string   `json:"query,omitempty" jsonschema:"symbol, part of a name, or mint address; empty lists tokens by volume"`
		Limit int32    `json:"limit,omitempty" jsonschema:"results, 1 to 50; 10 by default"`
		Page  int64    `json:"page,omitempty" jsonschema:"page of results, from 1"`
		Sort  string   `json:"sort,omitempty" jsonschema:"relevance (default), volume, newest, oldest, trending, or a figure of the market, descending: price_usd, market_cap_usd, held_usd, liquidity_usd, organic_volume_usd, pools, first_pool_at, holders, or of a window (5m, 1h, 6h or 24h), such as price_change_1h, price_drop_24h, volume_5m_usd, bought_1h_usd, sold_1h_usd, high_1h_usd, low_1h_usd, trades_6h, buys_1h, sells_1h, traders_24h, buyers_1h, sellers_1h"`
		Min   []string `json:"min,omitempty" jsonschema:"only tokens with at least so much of such figures, as FIGURE:NUMBER"`
		Max   []string `json:"max,omitempty" jsonschema:"only tokens with at most so much of such figures, as FIGURE:NUMBER"`
	}
	tokenArgs struct {
		Mint       string `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Windows    bool   `json:"windows,omitempty" jsonschema:"whether to tell volumes, trades and price changes of the last 5 minutes, 1, 6 and 24 hours"`
		Provenance bool   `json:"provenance,omitempty" jsonschema:"whether to tell where each field came from"`
		AsOfSlot   int64  `json:"as_of_slot,omitempty" jsonschema:"metadata as of the end of this slot; now by default"`
	}
	batchArgs struct {
		Mints []string `json:"mints" jsonschema:"1 to 30 mint addresses, base58; up to 5 of them may be symbols"`
	}
	historyArgs struct {
		Mint   string `json:"mint" jsonschema:"mint address, base58, or a symbol"`
		Limit  int32  `json:"limit,omitempty" jsonschema:"entries, 1 to 100; 20 by default"`
		Before string `json:"before,omitempty" jsonschema:"the next of the page before, for older entries"`
	}
)

// Bounds of one batch. Each symbol is a search, of which a client has 60 a minute.
const (
	maxMints   = 30
	maxSymbols = 5
)

// rowFields are the fields of a token that help a model to choose among tokens.
var rowFields = []string{
	"mint", "symbol", "name", "decimals", "tags", "launchpad", "first_seen_at", "daily_volume_usd", "price_usd", "price_change_24h", "market_cap_usd", "liquidity_usd", "holders", "evidence",
}

// Members of answers that are of no use to a model, or only for proofs.
var (
	dropOfToken   = []string{"sha256", "signer", "signature", "skeleton"}
	dropOfRow     = []string{"skeleton"}
	dropOfHistory = []string{"transaction_index", "instruction_index", "inner_instruction_index", "batch_index", "in_registry"}
)

// addTokens adds the tools about tokens.
func (a *ask) addTokens(server *mcp.Server) {
	tool(server, "search_tokens", "Search fungible tokens of Solana. Each has evidence: canonical is the token that trades most among those that look alike, so a row with another canonical may be an impostor."+writtenByCreators,
		func(ctx context.Context, in searchArgs) (*told, error) {
			yes, limit := true, min(cmp.Or(max(in.Limit, 0), 10), 50)
			text, err := body(a.REST.SearchTokensWithResponse(ctx, &rest.SearchTokensParams{
				Q: given(in.Query), Limit: &limit, Page: given(in.Page), Sort: given(rest.SearchTokensParamsSort(in.Sort)), Evidence: &yes, Fields: &rowFields, Min: list(in.Min), Max: list(in.Max),
			}))
			return (&told{}).numbered(limit, dropOfRow, text, err)
		})
	tool(server, "get_token", "Look up one token: metadata, supply (raw units), authorities, market (price, liquidity, volumes), and the token lists that hold it. The tag verified comes from lists only."+writtenByCreators,
		func(ctx context.Context, in tokenArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint
			yes := true
			text, err := body(a.REST.GetTokenWithResponse(ctx, mint, &rest.GetTokenParams{
				Evidence: &yes, Market: &yes, Lists: &yes, Provenance: given(in.Provenance), Windows: given(in.Windows), AsOfSlot: given(in.AsOfSlot),
			}))
			return t.whole(short{drop: dropOfToken, rows: 20}, text, err)
		})
	tool(server, "get_tokens", "Look up many tokens at once, in short: metadata, price, liquidity, holders. unknown has mints that the registry does not have, and states what is known of each; those that are queued may be known a second later."+writtenByCreators, a.batchTool)
	tool(server, "token_history", "List what happened to one token, newest first: each instruction with slot, signature and the fields it changed."+writtenByCreators,
		func(ctx context.Context, in historyArgs) (*told, error) {
			mint, t, err := a.mintOf(ctx, in.Mint)
			if err != nil {
				return nil, err
			}
			t.more = "mintlake://tokens/" + mint + "/history"
			return t.page(in.Limit, 20, 100, dropOfHistory, func(limit *int32) ([]byte, error) {
				return body(a.REST.GetHistoryWithResponse(ctx, mint, &rest.GetHistoryParams{Limit: limit, Before: given(in.Before)}))
			})
		})
}

// batchTool is the tool get_tokens. A symbol that may mean several tokens becomes a note, and does
// not keep the other tokens from being answered.
func (a *ask) batchTool(ctx context.Context, in batchArgs) (*told, error) {
	if len(in.Mints) == 0 || len(in.Mints) > maxMints {
		return nil, fmt.Errorf("mints has %d: must be 1 to %d", len(in.Mints), maxMints)
	}
	t, symbols := &told{}, 0
	var mints []string
	for _, text := range in.Mints {
		if !address.MatchString(text) {
			if symbols++; symbols > maxSymbols {
				return nil, fmt.Errorf("mints has more than %d symbols: name the others by their mints", maxSymbols)
			}
		}
		mint, about, err := a.mintOf(ctx, text)
		switch several := new(severalTokens); {
		case errors.As(err, &several):
			t.notes = append(t.notes, several)
		case err != nil:
			return nil, err
		default:
			mints, t.notes = append(mints, mint), append(t.notes, about.notes...)
		}
	}
	text := json.RawMessage(`{"items":[],"unknown":[]}`)
	if len(mints) > 0 {
		yes := true
		answer, err := body(a.REST.ResolveTokensWithResponse(ctx, &rest.ResolveTokensParams{Fields: &rowFields}, rest.BatchRequest{Mints: mints, States: &yes}))
		if err != nil {
			return nil, err
		}
		text = answer
	}
	return t.whole(short{drop: dropOfRow}, text, nil)
}
