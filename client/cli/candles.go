package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func candlesCommand() *cobra.Command {
	var limit int32
	var from, to int64
	var interval, pool, in string
	cmd := &cobra.Command{
		Use:   "candles MINT|SYMBOL",
		Short: "List what one token cost and how much of it was traded, by intervals, oldest first",
		Example: `  mintlake tokens candles SOL --interval 1m --limit 10
  mintlake tokens candles BONK --in quote --json | jq '.candles[].close'`,
		Args: Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.REST.GetCandlesWithResponse(ctx, mint, &rest.GetCandlesParams{
			Limit: &limit, Interval: given(rest.GetCandlesParamsInterval(interval)), Pool: given(pool), In: given(rest.GetCandlesParamsIn(in)), From: given(from), To: given(to),
		})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showCandles)
	})
	cmd.Flags().Int32Var(&limit, "limit", 24, "candles to list, the newest so many, 1 to 1000")
	cmd.Flags().StringVar(&interval, "interval", "", "1s (of the last hour), 1m, 5m, 15m, 1h (the default), 4h, 1d or 1w")
	cmd.Flags().StringVar(&pool, "pool", "", "only trades on this pool")
	cmd.Flags().StringVar(&in, "in", "", "what prices are in: usd (the default), or quote, the other token of the pool")
	cmd.Flags().Int64Var(&from, "from", 0, "only candles that begin at this time or later, Unix seconds")
	cmd.Flags().Int64Var(&to, "to", 0, "only candles that begin before this time, Unix seconds")
	_ = cmd.RegisterFlagCompletionFunc("interval", cobra.FixedCompletions([]string{"1s", "1m", "5m", "15m", "1h", "4h", "1d", "1w"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("in", cobra.FixedCompletions([]string{"usd", "quote"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *ask) showCandles(page *rest.CandlesResponse) error {
	cost := dollars
	if page.QuoteMint != nil {
		cost = func(price *float64) string {
			if price == nil {
				return "-"
			}
			return strconv.FormatFloat(*price, 'g', 6, 64)
		}
	}
	table := terminal.Table{Head: []string{"FROM", "OPEN", "HIGH", "LOW", "CLOSE", "VOLUME", "TRADES"}, Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true}}
	for i := range page.Candles {
		c := &page.Candles[i]
		table.Row(terminal.Cell{Text: time.Unix(int64(c.Time), 0).UTC().Format(time.DateTime)}, terminal.Cell{Text: cost(c.Open)}, terminal.Cell{Text: cost(c.High)}, terminal.Cell{Text: cost(c.Low)},
			terminal.Cell{Text: cost(c.Close)}, terminal.Cell{Text: dollars(&c.VolumeUSD)}, terminal.Cell{Text: terminal.Count(c.Trades)})
	}
	if err := a.list(&table, "no trade is known"); err != nil {
		return err
	}
	if page.QuoteMint != nil {
		fmt.Fprintf(a.notes, "prices are in %s\n", terminal.Clean(*page.QuoteMint))
	}
	return nil
}
