package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func quoteCommand() *cobra.Command {
	var slippage int
	var swap string
	cmd := &cobra.Command{
		Use:   "quote SELL BUY AMOUNT",
		Short: "Ask what a swap would give: SELL and BUY are mints or symbols, AMOUNT is in whole tokens",
		Long: `Ask what a swap would give now. Nothing is executed, but with --swap, which works on the demo chain only: it signs the swap's
transaction with the key in the file (as solana-keygen writes it), sends it, and shows what arrived. SELL and BUY are mints or symbols, AMOUNT is in whole tokens of SELL.
A key of the swap API, where it needs one, is read from $MINTLAKE_SWAP_KEY.`,
		Example: `  mintlake quote SOL USDC 1.5
  mintlake quote SOL USDC 1.5 --swap ~/.config/solana/id.json`,
		Args: Arguments,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeMints(cmd, args, typed)
		},
	}
	cmd.Flags().String("swap-url", fromEnvironment("MINTLAKE_SWAP_URL", defaultSwapURL), "swap API of a node ($MINTLAKE_SWAP_URL)")
	cmd.Flags().IntVar(&slippage, "slippage-bps", 50, "how much less than the quote is taken, in hundredths of a percent")
	cmd.Flags().StringVar(&swap, "swap", "", "make the swap with the key in this `FILE`, on the demo chain only")
	return asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		var sides [2]*rest.Token
		for i := range sides {
			mint, err := a.mint(ctx, args[i])
			if err != nil {
				return err
			}
			if sides[i], err = a.Token(ctx, mint, nil); err != nil {
				return err
			}
		}
		raw, err := terminal.Raw(args[2], sides[0].Decimals)
		if err != nil {
			return err
		}
		if swap != "" {
			return a.swap(ctx, swap, sides, raw, slippage)
		}
		answer, err := a.Quote(ctx, sides[0].Mint, sides[1].Mint, raw, slippage)
		if err != nil {
			return err
		}
		return answered(a, answer, func(q *quote) error { return a.showQuote(q, sides[0], sides[1]) })
	})
}

// quote is the part of the swap API's answer that the command shows (docs/swap.md).
type quote struct {
	AmountIn  string `json:"amount_in"`
	AmountOut string `json:"amount_out"`
	Min       string `json:"min_amount_out"`
	Impact    int    `json:"price_impact_bps"`
	Slot      int    `json:"slot"`
	Route     []struct {
		Venue string `json:"venue"`
		Pool  string `json:"pool"`
	} `json:"route"`
	Warnings []string `json:"warnings"`
}

// highImpact is the price impact, in basis points, from which on the impact is shown in red.
const highImpact = 100

func (a *ask) showQuote(q *quote, sell, buy *rest.Token) error {
	var table terminal.Table
	add := func(name, value string, style terminal.Style) {
		table.Row(terminal.Cell{Text: name, Style: terminal.Dim}, terminal.Cell{Text: value, Style: style})
	}
	add("sell", terminal.Amount(q.AmountIn, sell.Decimals)+" "+sell.Symbol, terminal.Bold)
	add("buy", terminal.Amount(q.AmountOut, buy.Decimals)+" "+buy.Symbol, terminal.Bold)
	add("at least", terminal.Amount(q.Min, buy.Decimals)+" "+buy.Symbol, terminal.Plain)
	style := terminal.Plain
	if q.Impact >= highImpact {
		style = terminal.Red
	}
	add("price impact", fmt.Sprintf("%d.%02d %%", q.Impact/100, q.Impact%100), style)
	for i, leg := range q.Route {
		name := ""
		if i == 0 {
			name = "route"
		}
		add(name, leg.Venue, terminal.Plain)
		add("", leg.Pool, terminal.Dim)
	}
	add("state of slot", terminal.Count(q.Slot), terminal.Plain)
	if len(q.Warnings) > 0 {
		add("warnings", strings.Join(q.Warnings, "; "), terminal.Yellow)
	}
	return table.Write(a.out, a.paint)
}
