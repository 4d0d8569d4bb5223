package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func tradesCommand() *cobra.Command {
	var limit int32
	var pool, trader, side, before string
	var minValue float64
	cmd := &cobra.Command{
		Use:   "trades MINT|SYMBOL",
		Short: "List what was traded of one token, newest first",
		Example: `  mintlake tokens trades USDC --limit 5
  mintlake tokens trades SOL --side sell --min-value 1000`,
		Args: Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.REST.GetTradesWithResponse(ctx, mint, &rest.GetTradesParams{
			Limit: &limit, Pool: given(pool), Trader: given(trader), Side: given(rest.GetTradesParamsSide(side)), MinValue: given(minValue), Before: given(before),
		})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showTrades)
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "trades to list, 1 to 200")
	cmd.Flags().StringVar(&pool, "pool", "", "only trades on this pool")
	cmd.Flags().StringVar(&trader, "trader", "", "only trades of this wallet")
	cmd.Flags().StringVar(&side, "side", "", "only buy or only sell")
	cmd.Flags().Float64Var(&minValue, "min-value", 0, "only trades worth at least so many US dollars")
	cmd.Flags().StringVar(&before, "before", "", "go on with older trades, from the place that the page before named")
	_ = cmd.RegisterFlagCompletionFunc("side", cobra.FixedCompletions([]string{"buy", "sell"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *ask) showTrades(page *rest.TradesResponse) error {
	table := terminal.Table{Head: []string{"AGE", "SIDE", "AMOUNT", "PRICE", "VALUE", "VENUE", "THROUGH", "TRADER", "SIGNATURE"}, Right: map[int]bool{0: true, 2: true, 3: true, 4: true}}
	for i := range page.Trades {
		trade := &page.Trades[i]
		amount, price, value := trade.Amount, "-", "-"
		if trade.Decimals != nil {
			amount = terminal.Amount(trade.Amount, *trade.Decimals)
		}
		if trade.PriceUSD != nil {
			price = "$" + strconv.FormatFloat(*trade.PriceUSD, 'g', 6, 64)
		}
		if trade.ValueUSD != nil {
			value = terminal.USD(*trade.ValueUSD)
		}
		table.Row(terminal.Cell{Text: a.ago(&trade.Time)}, terminal.Cell{Text: string(trade.Side), Style: terminal.Bold}, terminal.Cell{Text: amount}, terminal.Cell{Text: price},
			terminal.Cell{Text: value}, terminal.Cell{Text: trade.Venue}, terminal.Cell{Text: or(trade.Aggregator)}, terminal.Cell{Text: trade.Trader, Style: terminal.Dim},
			terminal.Cell{Text: or(trade.Signature), Style: terminal.Dim})
	}
	if err := a.list(&table, "no trade is known"); err != nil {
		return err
	}
	if page.Next != nil {
		fmt.Fprintf(a.notes, "older: --before %s\n", terminal.Clean(*page.Next))
	}
	return nil
}
