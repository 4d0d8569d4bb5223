package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func ownersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "owners", Short: "Ask a running node what a wallet holds: get, accounts"}
	cmd.AddCommand(ownerCommand(), ownerAccountsCommand())
	return cmd
}

func ownerCommand() *cobra.Command {
	var limit int32
	var slot int64
	var cursor string
	cmd := &cobra.Command{
		Use:   "get ADDRESS",
		Short: "List what a wallet holds, the highest value first",
		Example: `  mintlake owners get 9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM
  mintlake owners get 9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM --at-slot 400000000 --json`,
		Args: Arguments,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		answer, err := a.REST.GetOwnerTokensWithResponse(ctx, args[0], &rest.GetOwnerTokensParams{Limit: &limit, AtSlot: given(slot), Cursor: given(cursor)})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showOwner)
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "tokens to list, 1 to 1000")
	cmd.Flags().Int64Var(&slot, "at-slot", 0, "as of the end of this slot")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on with the tokens behind the page that named this place")
	return cmd
}

func (a *ask) showOwner(page *rest.OwnerTokensResponse) error {
	table := terminal.Table{Head: []string{"SYMBOL", "AMOUNT", "VALUE", "MINT", "NOTE"}, Right: map[int]bool{1: true, 2: true}}
	for i := range page.Items {
		item := &page.Items[i]
		symbol, amount, note := "-", item.Amount+" raw", "not in the registry"
		if item.Symbol != nil {
			symbol, note = *item.Symbol, ""
		}
		if item.Decimals != nil {
			amount = terminal.Amount(item.Amount, *item.Decimals)
		}
		if !item.Complete && note == "" {
			note = "not complete"
		}
		table.Row(terminal.Cell{Text: symbol, Style: terminal.Bold}, terminal.Cell{Text: amount}, terminal.Cell{Text: dollars(item.ValueUSD)}, terminal.Cell{Text: item.Mint},
			terminal.Cell{Text: note, Style: terminal.Yellow})
	}
	if err := a.list(&table, "it holds no token that is known"); err != nil {
		return err
	}
	if more := page.Total - len(page.Items); more > 0 && page.Next != nil {
		fmt.Fprintf(a.notes, "of %s tokens; more: --cursor %s\n", terminal.Count(page.Total), terminal.Clean(*page.Next))
	}
	return nil
}

func ownerAccountsCommand() *cobra.Command {
	var limit int32
	var mint, cursor string
	cmd := &cobra.Command{
		Use:   "accounts ADDRESS",
		Short: "List the token accounts of a wallet: amounts, who may spend from them, which are frozen",
		Example: `  mintlake owners accounts 9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM
  mintlake owners accounts 9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM --mint USDC --json`,
		Args: Arguments,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		params := &rest.GetOwnerAccountsParams{Limit: &limit, Cursor: given(cursor)}
		if mint != "" {
			meant, err := a.mint(ctx, mint)
			if err != nil {
				return err
			}
			params.Mint = &meant
		}
		answer, err := a.REST.GetOwnerAccountsWithResponse(ctx, args[0], params)
		if err != nil {
			return err
		}
		return answered(a, answer.Body, func(page *rest.OwnerAccountsResponse) error { return a.showAccounts(ctx, page) })
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "accounts to list, 1 to 1000")
	cmd.Flags().StringVar(&mint, "mint", "", "only accounts of this token, a mint or a symbol")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on with the accounts behind the page that named this place")
	_ = cmd.RegisterFlagCompletionFunc("mint", completeMints)
	return cmd
}

func (a *ask) showAccounts(ctx context.Context, page *rest.OwnerAccountsResponse) error {
	mints := make([]string, 0, len(page.Items))
	for i := range page.Items {
		mints = append(mints, page.Items[i].Mint)
	}
	tokens, err := a.tokens(ctx, mints)
	if err != nil {
		return err
	}
	table := terminal.Table{Head: []string{"SYMBOL", "AMOUNT", "STATE", "DELEGATE", "MAY SPEND", "ACCOUNT"}, Right: map[int]bool{1: true, 4: true}}
	for i := range page.Items {
		item := &page.Items[i]
		token := tokens[item.Mint]
		state, style := "unknown", terminal.Dim
		if item.IsFrozen != nil {
			state, style = "open", terminal.Plain
			if *item.IsFrozen {
				state, style = "frozen", terminal.Yellow
			}
		}
		delegate, spend := "-", "-"
		if item.Delegate != nil {
			delegate = *item.Delegate
			if item.DelegatedAmount != nil {
				spend = amountOf(*item.DelegatedAmount, token)
			}
		}
		table.Row(terminal.Cell{Text: symbolOf(token, item.Mint), Style: terminal.Bold}, terminal.Cell{Text: amountOf(item.Amount, token)}, terminal.Cell{Text: state, Style: style},
			terminal.Cell{Text: delegate, Style: terminal.Yellow}, terminal.Cell{Text: spend}, terminal.Cell{Text: item.Account})
	}
	if err := a.list(&table, "no token account of it is known"); err != nil {
		return err
	}
	a.noteState(page.Complete, page.SinceSlot, page.AsOfSlot)
	if page.Next != nil {
		fmt.Fprintf(a.notes, "more: --cursor %s\n", terminal.Clean(*page.Next))
	}
	return nil
}
