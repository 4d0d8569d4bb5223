package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func poolsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pools", Short: "Ask a running node about one pool: liquidity, history"}
	cmd.AddCommand(poolLiquidityCommand(), poolHistoryCommand())
	return cmd
}

func tokenPoolsCommand() *cobra.Command {
	var limit int32
	cmd := &cobra.Command{
		Use:   "pools MINT|SYMBOL",
		Short: "List the pools that hold one token, those that trade most first",
		Example: `  mintlake tokens pools USDC --limit 5
  mintlake tokens pools BONK --json | jq -r '.pools[].pool'`,
		Args: Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.REST.GetPoolsWithResponse(ctx, mint, &rest.GetPoolsParams{Limit: &limit})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, func(page *rest.PoolsResponse) error { return a.showPools(ctx, page) })
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "pools to list, 1 to 200")
	return cmd
}

func (a *ask) showPools(ctx context.Context, page *rest.PoolsResponse) error {
	var mints []string
	for i := range page.Pools {
		mints = append(mints, page.Pools[i].MintA, page.Pools[i].MintB)
	}
	tokens, err := a.tokens(ctx, mints)
	if err != nil {
		return err
	}
	table := terminal.Table{Head: []string{"VENUE", "HOLDS", "AND", "VOLUME 24 H", "TRADES", "AGE", "POOL"}, Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}}
	for i := range page.Pools {
		pool := &page.Pools[i]
		holds := func(mint string, reserve *string) string {
			if reserve == nil {
				return "- " + symbolOf(tokens[mint], mint)
			}
			return amountOf(*reserve, tokens[mint]) + " " + symbolOf(tokens[mint], mint)
		}
		first, second := holds(pool.MintA, pool.ReserveA), holds(pool.MintB, pool.ReserveB)
		if pool.MintB == page.Mint {
			first, second = second, first
		}
		table.Row(terminal.Cell{Text: pool.Venue, Style: terminal.Bold}, terminal.Cell{Text: first}, terminal.Cell{Text: second}, terminal.Cell{Text: dollars(pool.DailyVolumeUSD)},
			terminal.Cell{Text: terminal.Count(pool.Trades)}, terminal.Cell{Text: a.ago(pool.CreatedAt)}, terminal.Cell{Text: pool.Pool})
	}
	return a.list(&table, "no pool of it is known")
}

func poolLiquidityCommand() *cobra.Command {
	var limit int32
	var before string
	cmd := &cobra.Command{
		Use:   "liquidity POOL",
		Short: "List what was put into a pool and taken out, newest first; trades are not in it",
		Example: `  mintlake pools liquidity 58oQChx4yWmvKdwLLZzBi4ChoCc2fqCUWBkwMihLYQo2 --limit 5
  mintlake pools liquidity 58oQChx4yWmvKdwLLZzBi4ChoCc2fqCUWBkwMihLYQo2 --json | jq -r '.changes[].provider'`,
		Args: Arguments,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		answer, err := a.REST.GetPoolLiquidityWithResponse(ctx, args[0], &rest.GetPoolLiquidityParams{Limit: &limit, Before: given(before)})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, func(page *rest.PoolLiquidityResponse) error { return a.showLiquidity(ctx, page) })
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "changes to list, 1 to 200")
	cmd.Flags().StringVar(&before, "before", "", "go on with older changes, from the place that the page before named")
	return cmd
}

func (a *ask) showLiquidity(ctx context.Context, page *rest.PoolLiquidityResponse) error {
	var mints []string
	for i := range page.Changes {
		mints = append(mints, page.Changes[i].MintA)
		if page.Changes[i].MintB != nil {
			mints = append(mints, *page.Changes[i].MintB)
		}
	}
	tokens, err := a.tokens(ctx, mints)
	if err != nil {
		return err
	}
	// The change itself tells decimals, because the registry may not have the mint.
	moved := func(raw, mint string, decimals *int) string {
		amount := amountOf(raw, tokens[mint])
		if decimals != nil {
			amount = terminal.Amount(raw, *decimals)
		}
		return amount + " " + symbolOf(tokens[mint], mint)
	}
	table := terminal.Table{Head: []string{"AGE", "KIND", "AMOUNT", "AND", "LP TOKENS", "PROVIDER", "SIGNATURE"}, Right: map[int]bool{0: true, 2: true, 3: true, 4: true}}
	for i := range page.Changes {
		change := &page.Changes[i]
		second := "-"
		if change.MintB != nil {
			second = moved(change.AmountB, *change.MintB, change.DecimalsB)
		}
		table.Row(terminal.Cell{Text: a.ago(change.Time)}, terminal.Cell{Text: string(change.Kind), Style: terminal.Bold}, terminal.Cell{Text: moved(change.AmountA, change.MintA, change.DecimalsA)},
			terminal.Cell{Text: second}, terminal.Cell{Text: or(change.LpAmount)}, terminal.Cell{Text: or(change.Provider), Style: terminal.Dim}, terminal.Cell{Text: change.Signature, Style: terminal.Dim})
	}
	if err := a.list(&table, "nothing is known to have been put into it or taken out"); err != nil {
		return err
	}
	if page.LpMint != nil {
		fmt.Fprintf(a.notes, "mint of its liquidity tokens: %s\n", terminal.Clean(*page.LpMint))
	}
	if page.Next != nil {
		fmt.Fprintf(a.notes, "older: --before %s\n", terminal.Clean(*page.Next))
	}
	return nil
}

func poolHistoryCommand() *cobra.Command {
	var limit int32
	cmd := &cobra.Command{
		Use:     "history POOL",
		Short:   "List what a pool held at the end of each hour, oldest first",
		Example: `  mintlake pools history 58oQChx4yWmvKdwLLZzBi4ChoCc2fqCUWBkwMihLYQo2 --limit 24`,
		Args:    Arguments,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		answer, err := a.REST.GetPoolLiquidityHistoryWithResponse(ctx, args[0], &rest.GetPoolLiquidityHistoryParams{Limit: &limit})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, func(page *rest.PoolReservesResponse) error { return a.showReserves(ctx, page) })
	})
	cmd.Flags().Int32Var(&limit, "limit", 24, "hours to list, the newest so many, 1 to 1000")
	return cmd
}

func (a *ask) showReserves(ctx context.Context, page *rest.PoolReservesResponse) error {
	var mints []string
	for i := range page.Points {
		mints = append(mints, page.Points[i].MintA, page.Points[i].MintB)
	}
	tokens, err := a.tokens(ctx, mints)
	if err != nil {
		return err
	}
	table := terminal.Table{Head: []string{"HOUR", "HELD", "AND"}, Right: map[int]bool{1: true, 2: true}}
	for i := range page.Points {
		p := &page.Points[i]
		table.Row(terminal.Cell{Text: hour(p.Time)}, terminal.Cell{Text: amountOf(p.ReserveA, tokens[p.MintA]) + " " + symbolOf(tokens[p.MintA], p.MintA)},
			terminal.Cell{Text: amountOf(p.ReserveB, tokens[p.MintB]) + " " + symbolOf(tokens[p.MintB], p.MintB)})
	}
	return a.list(&table, "no hour of it is known")
}

func liquidityCommand() *cobra.Command {
	var limit int32
	cmd := &cobra.Command{
		Use:     "liquidity MINT|SYMBOL",
		Short:   "List what the pools of one token held at the end of each hour, in US dollars, oldest first",
		Example: `  mintlake tokens liquidity BONK --limit 24`,
		Args:    Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.REST.GetLiquidityHistoryWithResponse(ctx, mint, &rest.GetLiquidityHistoryParams{Limit: &limit})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showLiquidityHistory)
	})
	cmd.Flags().Int32Var(&limit, "limit", 24, "hours to list, the newest so many, 1 to 1000")
	return cmd
}

func (a *ask) showLiquidityHistory(page *rest.LiquidityHistoryResponse) error {
	table := terminal.Table{Head: []string{"HOUR", "LIQUIDITY", "POOLS"}, Right: map[int]bool{1: true, 2: true}}
	for i := range page.Points {
		p := &page.Points[i]
		table.Row(terminal.Cell{Text: hour(p.Time)}, terminal.Cell{Text: dollars(p.LiquidityUSD)}, terminal.Cell{Text: terminal.Count(p.Pools)})
	}
	return a.list(&table, "no hour of it is known")
}

// hour formats the start of an hour in Unix seconds, in UTC.
func hour(seconds int) string { return time.Unix(int64(seconds), 0).UTC().Format("2006-01-02 15:04") }
