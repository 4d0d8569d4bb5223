package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client"
	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

// errEnough ends a watch after --count events.
var errEnough = errors.New("enough")

func watchCommand() *cobra.Command {
	var f filters
	var cursor string
	var count int
	var onlyNew bool
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show new and changed tokens as they come, until Ctrl-C",
		Long: `Show new and changed tokens as they come, until Ctrl-C. When the connection ends, the watch goes on behind what it has shown: nothing is missed.
With --json each event is a line: {"event": …, "data": …}, and {"event":"cursor","data":…} names a place for --cursor.`,
		Example: `  mintlake tokens watch --new
  mintlake tokens watch --tag pump --json | jq -r .data.mint`,
		Args: Arguments,
	}
	asking(cmd, func(ctx context.Context, a *ask, _ []string) error {
		shown := 0
		err := a.Follow(ctx, &rest.StreamTokensParams{
			Cursor: given(cursor), Program: given(rest.StreamTokensParamsProgram(f.program)), Tag: given(f.tag), MinVolume: given(f.minVolume),
		}, func(e client.Event) error {
			if onlyNew && (e.Kind == client.EventChanged || e.Kind == client.EventRemoved) {
				return nil
			}
			if err := a.showEvent(e, time.Now()); err != nil {
				return err
			}
			if e.Kind != client.EventCursor {
				shown++
			}
			if count > 0 && shown >= count {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	cmd.Flags().StringVar(&cursor, "cursor", "", "begin behind this place; without it now")
	cmd.Flags().IntVar(&count, "count", 0, "end after so many events; 0 = never")
	cmd.Flags().BoolVar(&onlyNew, "new", false, "only tokens that are new")
	f.add(cmd)
	return cmd
}

// showEvent prints an event as one line. Cursors are printed with --json only.
func (a *ask) showEvent(e client.Event, now time.Time) error {
	if a.json {
		data := any(e.Data)
		if e.Kind == client.EventCursor {
			data = e.Cursor
		}
		line, err := json.Marshal(map[string]any{"event": e.Kind, "data": data})
		if err != nil {
			return err
		}
		return a.raw(line)
	}
	style := map[string]terminal.Style{client.EventNew: terminal.Green, client.EventRemoved: terminal.Red, client.EventReset: terminal.Yellow}[e.Kind]
	text := strings.TrimSpace(fmt.Sprintf("%-44s  %-12s %s", e.Token.Mint, terminal.Clean(e.Token.Symbol), terminal.Clean(e.Token.Name)))
	switch e.Kind {
	case client.EventCursor:
		return nil
	case client.EventReset:
		text = terminal.Clean(e.Message)
	}
	_, err := fmt.Fprintf(a.out, "%s  %s  %s\n", now.Format(time.TimeOnly), a.paint.Text(style, fmt.Sprintf("%-7s", e.Kind)), text)
	return err
}
