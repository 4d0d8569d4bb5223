package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mintlake/mintlake/projector/verify"
)

// ErrDiffers says that rows are missing or wrong.
var ErrDiffers = errors.New("the tables differ from the log; the commands above make the rows again")

var errOutdated = errors.New("an earlier version made rows of the tables that are outdated; `mintlake up` makes them anew in the background: verify again when its log says that tables are made anew")

// Print writes the report. It returns ErrDiffers if a table differs, or else errOutdated if one is
// outdated.
func Print(out io.Writer, reports []*verify.TableReport, asJSON bool) error {
	states := map[string]bool{}
	for _, report := range reports {
		states[report.State] = true
	}
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]any{"equal": !states[verify.Differs] && !states[verify.Outdated], "tables": reports}); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	} else {
		printText(out, reports)
	}
	switch {
	case states[verify.Differs]:
		return ErrDiffers
	case states[verify.Outdated]:
		return errOutdated
	}
	return nil
}

// summary says what a table's state means, in figures.
func summary(r *verify.TableReport) string {
	missing := r.Expected - min(r.Expected, r.Rows-min(r.Rows, r.More))
	more := ""
	if r.More > 0 {
		more = fmt.Sprintf(", and %d more that the log has no longer, or not yet", r.More)
	}
	switch {
	case r.State == verify.Equal && r.Checksum == r.ExpectedChecksum:
		return fmt.Sprintf("%d rows %s", r.Expected, r.Checksum)
	case r.State == verify.Equal:
		return fmt.Sprintf("all %d rows of the log are there, as they should be or in a later state%s", r.Expected, more)
	case r.State == verify.Waiting:
		return fmt.Sprintf("%d of %d rows are there; the other %d wait until the minutes of their legs are valued, which `mintlake up` does%s", r.Expected-r.Waits, r.Expected, r.Waits, more)
	case r.State == verify.Outdated:
		return fmt.Sprintf("%d rows are there, %d to come: an earlier version's rules made them", r.Rows, missing)
	default:
		return fmt.Sprintf("expected %d rows %s, has %d rows %s%s", r.Expected, r.ExpectedChecksum, r.Rows, r.Checksum, more)
	}
}

func printText(out io.Writer, reports []*verify.TableReport) {
	for _, report := range reports {
		fmt.Fprintf(out, "%-24s %-8s %s\n", report.Table, report.State, summary(report))
		for part, message := range report.BrokenParts {
			fmt.Fprintf(out, "  part %s is broken: %s\n", part, message)
		}
		for _, f := range report.Findings {
			switch {
			case f.Unreadable != "":
				fmt.Fprintf(out, "  %s: cannot be read: %s\n    %s\n", f.Table, f.Unreadable, f.Rebuild)
			case f.From != nil:
				fmt.Fprintf(out, "  %s, %s to %s: expected %d rows, found %d\n    %s\n", f.Table, f.From.Format(time.RFC3339), f.To.Format(time.RFC3339), f.Expected, f.Found, f.Rebuild)
			case f.ToSlot == 0:
				fmt.Fprintf(out, "  %s: expected %d rows, found %d\n    %s\n", f.Table, f.Expected, f.Found, f.Rebuild)
			default:
				fmt.Fprintf(out, "  %s, slots %d to %d: expected %d rows, found %d\n    %s\n", f.Table, f.FromSlot, f.ToSlot, f.Expected, f.Found, f.Rebuild)
			}
		}
		if len(report.BrokenParts) > 0 && len(report.Findings) == 0 {
			fmt.Fprintf(out, "    mintlake rebuild --tables %s\n", report.Table)
		}
	}
}
