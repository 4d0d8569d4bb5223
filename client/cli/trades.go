package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func tradesCommand() *cobra.Command {
	var limit int32
	var pool, trader, side, before string
	var minValue float64
	var from, to int64
	var follow bool
	cmd := &cobra.Command{
		Use:   "trades MINT|SYMBOL",
		Short: "List what was traded of one token, newest first",
		Example: `  mintlake tokens trades USDC --limit 5
  mintlake tokens trades SOL --side sell --min-value 1000
  mintlake tokens trades BONK --follow --json | jq .value_usd`,
		Args: Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		if follow {
			return a.followTrades(ctx, mint)
		}
		answer, err := a.REST.GetTradesWithResponse(ctx, mint, &rest.GetTradesParams{
			Limit: &limit, Pool: given(pool), Trader: given(trader), Side: given(rest.GetTradesParamsSide(side)), MinValue: given(minValue), From: given(from), To: given(to), Before: given(before),
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
	cmd.Flags().Int64Var(&from, "from", 0, "only trades of this block time or later, Unix seconds")
	cmd.Flags().Int64Var(&to, "to", 0, "only trades before this block time, Unix seconds")
	cmd.Flags().StringVar(&before, "before", "", "go on with older trades, from the place that the page before named")
	cmd.Flags().BoolVar(&follow, "follow", false, "show the trades that come, all of them, until Ctrl-C; with --json each is a line. Values are estimates")
	for _, other := range []string{"limit", "pool", "trader", "side", "min-value", "from", "to", "before"} {
		cmd.MarkFlagsMutuallyExclusive("follow", other)
	}
	_ = cmd.RegisterFlagCompletionFunc("side", cobra.FixedCompletions([]string{"buy", "sell"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// followTrades prints trades as they come. The stream of a mint has no filters, so --follow is
// refused together with flags that narrow down the list.
func (a *ask) followTrades(ctx context.Context, mint string) error {
	err := a.FollowTrades(ctx, mint, func() { fmt.Fprintln(a.notes, "no trade is missed from now on") }, func(trade *rest.Trade) error {
		if a.json {
			line, err := json.Marshal(trade)
			if err != nil {
				return err
			}
			return a.raw(line)
		}
		amount, price, value := tradeTexts(trade)
		style := map[rest.TradeSide]terminal.Style{rest.TradeSideBuy: terminal.Green, rest.TradeSideSell: terminal.Red}[trade.Side]
		_, err := fmt.Fprintf(a.out, "%s  %s  %20s  %12s  ≈ %10s  %s\n", time.UnixMilli(int64(trade.Time)).UTC().Format(time.TimeOnly), a.paint.Text(style, fmt.Sprintf("%-4s", trade.Side)), amount, price, value, terminal.Clean(trade.Venue))
		return err
	})
	if err == nil {
		fmt.Fprintln(a.notes, "the node ended the stream: what comes until the next one is in the list")
	}
	return err
}

// tradeTexts returns amount, price and value of a trade for people.
func tradeTexts(trade *rest.Trade) (amount, price, value string) {
	amount, price, value = trade.Amount, "-", "-"
	if trade.Decimals != nil {
		amount = terminal.Amount(trade.Amount, *trade.Decimals)
	}
	if trade.PriceUSD != nil {
		price = "$" + strconv.FormatFloat(*trade.PriceUSD, 'g', 6, 64)
	}
	if trade.ValueUSD != nil {
		value = terminal.USD(*trade.ValueUSD)
	}
	return amount, price, value
}

func (a *ask) showTrades(page *rest.TradesResponse) error {
	table := terminal.Table{Head: []string{"AGE", "SIDE", "AMOUNT", "PRICE", "VALUE", "VENUE", "THROUGH", "TRADER", "SIGNATURE"}, Right: map[int]bool{0: true, 2: true, 3: true, 4: true}}
	for i := range page.Trades {
		trade := &page.Trades[i]
		amount, price, value := tradeTexts(trade)
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
