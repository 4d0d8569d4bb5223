package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// ownerKinds are the kinds of owners that --exclude takes.
var ownerKinds = []string{"wallet", "pool", "curve", "burn", "program", "unknown"}

func holdersCommand() *cobra.Command {
	var limit int32
	var slot int64
	var exclude []string
	var cursor string
	cmd := &cobra.Command{
		Use:   "holders MINT|SYMBOL",
		Short: "List who holds one token, those with the most first",
		Example: `  mintlake tokens holders USDC --limit 5
  mintlake tokens holders BONK --exclude pool,curve,burn
  mintlake tokens holders BONK --at-slot 400000000 --limit 1000 --json | jq -r '.items[].owner'`,
		Args: Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		params := &rest.GetHoldersParams{Limit: &limit, AtSlot: given(slot), Cursor: given(cursor)}
		if len(exclude) > 0 {
			kinds := make([]rest.OwnerKind, 0, len(exclude))
			for _, kind := range exclude {
				kinds = append(kinds, rest.OwnerKind(kind))
			}
			params.Exclude = &kinds
		}
		answer, err := a.REST.GetHoldersWithResponse(ctx, mint, params)
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showHolders)
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "holders to list, 1 to 1000")
	cmd.Flags().StringSliceVar(&exclude, "exclude", nil, "kinds of owners to leave out: "+strings.Join(ownerKinds, ", "))
	cmd.Flags().Int64Var(&slot, "at-slot", 0, "as of the end of this slot")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on with the holders behind the page that named this place")
	_ = cmd.RegisterFlagCompletionFunc("exclude", cobra.FixedCompletions(ownerKinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *ask) showHolders(page *rest.HoldersResponse) error {
	table := terminal.Table{Head: []string{"RANK", "AMOUNT", "SHARE", "KIND", "OWNER"}, Right: map[int]bool{0: true, 1: true, 2: true}}
	for i := range page.Items {
		h := &page.Items[i]
		owner, share := "-", "-"
		if h.Owner != nil {
			owner = *h.Owner
		}
		if h.SharePct != nil {
			share = fmt.Sprintf("%.2f%%", *h.SharePct)
		}
		style := terminal.Dim
		if h.OwnerKind == "wallet" {
			style = terminal.Plain
		}
		table.Row(terminal.Cell{Text: terminal.Count(h.Rank)}, terminal.Cell{Text: terminal.Amount(h.Amount, page.Decimals)}, terminal.Cell{Text: share},
			terminal.Cell{Text: string(h.OwnerKind), Style: style}, terminal.Cell{Text: owner})
	}
	if err := a.list(&table, "no holder of it is known"); err != nil {
		return err
	}
	if page.Total != nil {
		fmt.Fprintf(a.notes, "holders: %s\n", terminal.Count(*page.Total))
	}
	a.noteState(page.Complete, page.SinceSlot, page.AsOfSlot)
	if page.Next != nil {
		fmt.Fprintf(a.notes, "more: --cursor %s\n", terminal.Clean(*page.Next))
	}
	return nil
}

// noteState notes how complete an answer about balances is.
func (a *ask) noteState(complete bool, since, asOf *int) {
	switch {
	case !complete:
		fmt.Fprintln(a.notes, "not complete: the node has not seen every change of it")
	case since != nil && asOf != nil:
		fmt.Fprintf(a.notes, "complete from slot %s to %s\n", terminal.Count(*since), terminal.Count(*asOf))
	}
}
