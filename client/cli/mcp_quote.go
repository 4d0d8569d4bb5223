package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// quoteArgs are the arguments of the tool quote_swap.
type quoteArgs struct {
	Sell     string `json:"sell" jsonschema:"mint that is sold: address, base58, or a symbol"`
	Buy      string `json:"buy" jsonschema:"mint that is bought: address, base58, or a symbol"`
	Amount   string `json:"amount,omitempty" jsonschema:"how much of sell, in raw units: whole tokens times ten to the power of its decimals"`
	Whole    string `json:"whole_amount,omitempty" jsonschema:"instead of amount: how much of sell, in whole tokens, such as 1.5"`
	Slippage int    `json:"slippage_bps,omitempty" jsonschema:"how much less than the quote is taken, in basis points; 50 by default"`
}

// dropOfQuote are the members of a quote that are of no use to a model: route, because routes has
// the same legs with their shares, and members for programs that build transactions.
var dropOfQuote = []string{"route", "venues", "lookup_tables", "context_slot", "compute_units", "time_taken_ms", "txn", "last_valid_block_height"}

func (a *ask) addQuote(server *mcp.Server) {
	tool(server, "quote_swap", "Quote a swap of one token for another now: amounts in raw units and in whole tokens, routes, fees, price impact, warnings. Nothing is executed.", a.quoteTool)
}

// inWhole is the note that tells the amounts of a quote in whole tokens.
type inWhole struct {
	Sell    string `json:"sell"`
	Buy     string `json:"buy"`
	AtLeast string `json:"at_least"`
}

// quoteTool is the tool quote_swap.
func (a *ask) quoteTool(ctx context.Context, in quoteArgs) (*told, error) {
	if (in.Amount == "") == (in.Whole == "") {
		return nil, errors.New("name amount (raw units) or whole_amount (whole tokens), and not both")
	}
	t := &told{}
	var sides [2]*rest.Token // nil for a token that the registry does not have
	var mints [2]string
	for i, text := range [2]string{in.Sell, in.Buy} {
		mint, about, err := a.mintOf(ctx, text)
		if err != nil {
			return nil, err
		}
		mints[i], t.notes = mint, append(t.notes, about.notes...)
		if sides[i], err = a.Token(ctx, mint, &rest.GetTokenParams{Fields: &[]string{"mint", "symbol", "decimals"}}); err != nil && !client.IsNotFound(err) {
			return nil, err
		}
	}
	raw, slippage := in.Amount, in.Slippage
	if in.Whole != "" {
		if sides[0] == nil {
			return nil, errors.New("the registry does not have the decimals of sell: name the amount in raw units")
		}
		var err error
		if raw, err = terminal.Raw(in.Whole, sides[0].Decimals); err != nil {
			return nil, err
		}
	}
	if slippage == 0 {
		slippage = 50
	}
	answer, err := a.Quote(ctx, mints[0], mints[1], raw, slippage)
	if err == nil && sides[0] != nil && sides[1] != nil {
		q, err := decode[quote](answer)
		if err != nil {
			return nil, err
		}
		t.notes = append(t.notes, inWhole{wholeAmount(q.AmountIn, sides[0]), wholeAmount(q.AmountOut, sides[1]), wholeAmount(q.Min, sides[1])})
	}
	return t.whole(short{drop: dropOfQuote}, answer, err)
}

// wholeAmount returns a raw amount in whole tokens with the symbol, such as 1.5 SOL.
func wholeAmount(raw string, token *rest.Token) string {
	return strings.ReplaceAll(terminal.Amount(raw, token.Decimals), ",", "") + " " + terminal.Clean(token.Symbol)
}
