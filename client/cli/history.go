package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func historyCommand() *cobra.Command {
	var limit int32
	var before string
	cmd := &cobra.Command{
		Use:     "history MINT|SYMBOL",
		Short:   "List what happened to one token, newest first",
		Example: `  mintlake tokens history USDC --limit 5`,
		Args:    Arguments, ValidArgsFunction: completeMints,
	}
	asking(cmd, func(ctx context.Context, a *ask, args []string) error {
		mint, err := a.mint(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.REST.GetHistoryWithResponse(ctx, mint, &rest.GetHistoryParams{Limit: &limit, Before: given(before)})
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showHistory)
	})
	cmd.Flags().Int32Var(&limit, "limit", 20, "entries to list, 1 to 200")
	cmd.Flags().StringVar(&before, "before", "", "go on with older entries, from the place that the page before named")
	return cmd
}

func (a *ask) showHistory(page *rest.HistoryResponse) error {
	table := terminal.Table{Head: []string{"SLOT", "AGE", "KIND", "CHANGE", "SIGNATURE"}, Right: map[int]bool{0: true, 1: true}}
	for i := range page.Items {
		entry := &page.Items[i]
		changes := entry.Changes
		first := "-"
		if len(changes) > 0 {
			first = change(changes[0].Field, changes[0].Before, changes[0].After)
		}
		table.Row(terminal.Cell{Text: terminal.Count(entry.Slot)}, terminal.Cell{Text: a.ago(entry.BlockTime)}, terminal.Cell{Text: strings.ReplaceAll(entry.Kind, "_", " "), Style: terminal.Bold},
			terminal.Cell{Text: first}, terminal.Cell{Text: or(entry.Signature), Style: terminal.Dim})
		for j := 1; j < len(changes); j++ {
			table.Row(terminal.Cell{}, terminal.Cell{}, terminal.Cell{}, terminal.Cell{Text: change(changes[j].Field, changes[j].Before, changes[j].After)}, terminal.Cell{})
		}
	}
	if err := a.list(&table, "nothing of it is known"); err != nil {
		return err
	}
	if page.Next != nil {
		fmt.Fprintf(a.notes, "older: --before %s\n", terminal.Clean(*page.Next))
	}
	return nil
}

// change describes one change of a field: "decimals 6", or "name A → B" if there was a value
// before. Fields that end in _at are times, in epoch milliseconds. Of a time, the value before is
// left out: "last_seen_at → 2026-01-01 00:00:00".
func change(field string, before, after any) string {
	isTime := strings.HasSuffix(field, "_at")
	text := func(value any) string {
		switch v := value.(type) {
		case nil:
			return "none"
		case string:
			return v
		case float64:
			if isTime {
				return terminal.Moment(int64(v))
			}
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return "?"
		}
		return string(raw)
	}
	switch {
	case before == nil || before == "":
		return field + " " + text(after)
	case isTime && after != nil: // two times are wider than the column
		return field + " → " + text(after)
	}
	return field + " " + text(before) + " → " + text(after)
}
