package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/rest"
	"github.com/mintlake/mintlake/internal/terminal"
)

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how far, how fresh and how complete a running node is",
		Args:  Arguments,
	}
	return asking(cmd, func(ctx context.Context, a *ask, _ []string) error {
		answer, err := a.REST.GetStatusWithResponse(ctx)
		if err != nil {
			return err
		}
		return answered(a, answer.Body, a.showStatus)
	})
}

// showStatus prints the status as a table.
func (a *ask) showStatus(s *rest.Status) error {
	var table terminal.Table
	add := func(name, value string, style terminal.Style) {
		table.Row(terminal.Cell{Text: name, Style: terminal.Dim}, terminal.Cell{Text: value, Style: style})
	}
	switch {
	case s.Ready:
		add("ready", "yes", terminal.Green)
	case len(s.Reasons) > 0: // the reasons follow as rows of their own
		add("ready", "no", terminal.Red)
	default:
		add("ready", "no: the registry is still loading", terminal.Red)
	}
	for _, reason := range s.Reasons {
		add("", reason, terminal.Red)
	}
	source := "has not reported"
	if s.Source.Kind != nil {
		source = fmt.Sprintf("%s at slot %s, %s", *s.Source.Kind, terminal.Count(s.Source.Slot), map[bool]string{true: "done", false: "running"}[s.Source.Done])
		if s.Source.FailedInputs > 0 {
			source += fmt.Sprintf(", %s refused", terminal.Count(s.Source.FailedInputs))
		}
	}
	add("source", source, terminal.Plain)
	add("registry", terminal.Count(s.Registry.Tokens)+" tokens", terminal.Plain)
	if s.Root.Hash != nil && s.Root.Slot != nil {
		add("root", *s.Root.Hash, terminal.Plain)
		add("", "at slot "+terminal.Count(*s.Root.Slot), terminal.Plain)
	}
	lag, style := lagOf(s)
	add("lag", lag, style)
	fresh := "no events in the last 5 minutes"
	if s.Freshness.P50Ms != nil && s.Freshness.P99Ms != nil {
		fresh = "p50 " + terminal.Span(*s.Freshness.P50Ms) + ", p99 " + terminal.Span(*s.Freshness.P99Ms)
	}
	add("freshness", fresh, terminal.Plain)
	if s.Coverage.FromSlot != nil && s.Coverage.ToSlot != nil {
		add("coverage", fmt.Sprintf("slots %s to %s", terminal.Count(*s.Coverage.FromSlot), terminal.Count(*s.Coverage.ToSlot)), terminal.Plain)
		gaps, style := "none", terminal.Green
		if s.Coverage.GapCount > 0 {
			gaps, style = fmt.Sprintf("%s, first at slot %s", terminal.Count(s.Coverage.GapCount), terminal.Count(s.Coverage.Gaps[0].FromSlot)), terminal.Yellow
		}
		add("gaps", gaps, style)
	}
	if len(s.Unknowns) > 0 {
		u := s.Unknowns[0]
		add("unknowns", fmt.Sprintf("%s, last %s %s: see mintlake unknowns", terminal.Count(len(s.Unknowns)), terminal.Clean(u.Kind), terminal.Clean(u.Name)), terminal.Yellow)
	}
	a.health(add, "kafka", &s.Kafka)
	if c := s.Clickhouse; c != nil {
		a.health(add, "clickhouse", &rest.Health{Ok: c.Ok, SinceMs: c.SinceMs, Error: c.Error})
	}
	return table.Write(a.out, a.paint)
}

// lagOf returns what is known of the pipeline's lag, for people.
func lagOf(s *rest.Status) (text string, style terminal.Style) {
	switch p := s.Pipeline; {
	case p.LagRecords == nil && p.Error == nil:
		return "not measured yet", terminal.Plain
	case p.LagRecords == nil:
		return "unknown: " + *p.Error, terminal.Red
	case p.Error != nil && p.LastKnownAgeMs != nil:
		return fmt.Sprintf("%s records, %d s ago: %s", terminal.Count(*p.LagRecords), *p.LastKnownAgeMs/1000, *p.Error), terminal.Plain
	default:
		return terminal.Count(*p.LagRecords) + " records", terminal.Plain
	}
}

// health adds the row of Kafka or ClickHouse.
func (a *ask) health(add func(name, value string, style terminal.Style), name string, h *rest.Health) {
	switch {
	case h.Ok == nil:
		add(name, "not asked yet", terminal.Plain)
	case *h.Ok:
		add(name, "answers", terminal.Green)
	default:
		text := "away"
		if h.SinceMs != nil {
			text += " for " + terminal.Ago(time.UnixMilli(int64(*h.SinceMs)), a.now)
		}
		if h.Error != nil {
			text += ": " + strings.TrimSpace(*h.Error)
		}
		add(name, text, terminal.Red)
	}
}
