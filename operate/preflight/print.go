package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/mintlake/mintlake/internal/terminal"
	"github.com/mintlake/mintlake/operate/sizing"
)

var styles = map[State]terminal.Style{OK: terminal.Green, Less: terminal.Yellow, Fails: terminal.Red}

// PrintJSON writes the report for programs.
func PrintJSON(out io.Writer, r *Report) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Print writes the report for people.
func Print(out io.Writer, r *Report) error {
	paint := terminal.NewPaint(out)
	table := &terminal.Table{Head: []string{"STATE", "WHAT", "ENDPOINT", "LATENCY", "FOUND"}, Right: map[int]bool{3: true}}
	for _, c := range r.Checks {
		latency := ""
		if c.Millis > 0 {
			latency = fmt.Sprintf("%.1f ms", c.Millis)
		}
		table.Row(terminal.Cell{Text: string(c.State), Style: styles[c.State]}, terminal.Cell{Text: c.Name}, terminal.Cell{Text: c.Endpoint},
			terminal.Cell{Text: latency}, terminal.Cell{Text: c.Found})
	}
	if err := table.Write(out, paint); err != nil {
		return err
	}
	for _, c := range r.Checks {
		if c.Means != "" {
			if _, err := fmt.Fprintf(out, "%s: %s\n", paint.Text(styles[c.State], c.Name), terminal.Clean(c.Means)); err != nil {
				return err
			}
		}
	}
	if r.Forecast == nil {
		return nil
	}
	return printForecast(out, paint, r)
}

func printForecast(out io.Writer, paint terminal.Paint, r *Report) error {
	f, s := r.Forecast, r.Sample
	if _, err := fmt.Fprintf(out, "\nFrom %.0f seconds with %d blocks, what a day has:\n", s.Seconds, s.Blocks); err != nil {
		return err
	}
	day := &terminal.Table{Right: map[int]bool{1: true}}
	row := func(what, figure string) {
		day.Row(terminal.Cell{Text: what}, terminal.Cell{Text: figure}, terminal.Cell{})
	}
	row("bytes of the source", terminal.Bytes(int64(f.SourceBytes))+", "+terminal.Bytes(int64(30*f.SourceBytes))+" in 30 days")
	for _, unit := range []sizing.Unit{sizing.Slot, sizing.Transaction, sizing.Event, sizing.Leg, sizing.NewMint, sizing.NewPool} {
		row(string(unit)+"s", terminal.Count(int64(f.Units[unit])))
	}
	for _, c := range f.Calls {
		row("calls for "+c.For, terminal.Count(int64(c.Day)))
	}
	row("calls in all", terminal.Count(int64(f.total())))
	row("documents of new metadata", terminal.Count(int64(f.Documents)))
	if err := day.Write(out, paint); err != nil {
		return err
	}
	if f.BacklogDays > 0 {
		if _, err := fmt.Fprintf(out, "\nThe documents of %s tokens of a bootstrap are read in %.1f days, if the host with 40 %% of them bears the rate of --document-rate.\n", terminal.Count(f.Backlog), f.BacklogDays); err != nil {
			return err
		}
	}
	disk := &terminal.Table{Head: []string{"DISK AFTER DAYS", "KAFKA", "CLICKHOUSE"}, Right: map[int]bool{1: true, 2: true}}
	for _, d := range f.Disk {
		disk.Row(terminal.Cell{Text: strconv.FormatFloat(d.Days, 'f', -1, 64)}, terminal.Cell{Text: terminal.Bytes(int64(d.Kafka))}, terminal.Cell{Text: terminal.Bytes(int64(d.ClickHouse))})
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return disk.Write(out, paint)
}
