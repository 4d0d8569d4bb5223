package audit

import (
	"fmt"
	"io"
	"strings"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Field is one line of the report.
type Field struct {
	Name string `json:"field"`
	// Compared = Equal + Differ: both sides said something.
	Compared int `json:"compared"`
	Equal    int `json:"equal"`
	Differ   int `json:"differ"`
	// UnknownHere: only the chain said something. UnknownThere: only the registry did.
	UnknownHere  int `json:"unknown_here"`
	UnknownThere int `json:"unknown_there"`
	// Moved: the field changed after the slot of every read.
	Moved int `json:"moved"`
	// Accuracy = Equal / Compared, from 0 to 1; null when nothing was compared.
	Accuracy *float64 `json:"accuracy"`
	// Known = Compared / (Compared + UnknownHere): the part of what the chain says that the
	// registry knows; null if the chain said nothing.
	Known *float64 `json:"known"`
}

// Difference is one field of one mint on which registry and chain disagree.
type Difference struct {
	Mint  pubkey.Key `json:"mint"`
	Field string     `json:"field"`
	// Item is the extension's attribute; empty for most fields.
	Item    string  `json:"item,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Slot is that of the read. Here is the registry's value, There the chain's.
	Slot  uint64 `json:"slot"`
	Here  string `json:"here"`
	There string `json:"there"`
}

// Report is the result of an audit.
type Report struct {
	// Seed chose the mints, and Sampled is how many there were.
	Seed    uint64 `json:"seed"`
	Sampled int    `json:"sampled"`
	// FromSlot to ToSlot are the slots of the reads. RegistrySlot is the highest slot that the
	// registry had seen at the last check.
	FromSlot     uint64 `json:"from_slot"`
	ToSlot       uint64 `json:"to_slot"`
	RegistrySlot uint64 `json:"registry_slot"`
	// Rounds is how many rounds of reads were made.
	Rounds int `json:"rounds"`
	// Settled counts the mints of which something differed or moved at first, and nothing in the
	// end.
	Settled int `json:"settled"`
	// MetaplexUnreadable counts the Metaplex accounts that this version cannot parse.
	MetaplexUnreadable int     `json:"metaplex_unreadable"`
	Fields             []Field `json:"fields"`
	// Differences are listed up to a bound, those that differ before those that are unknown;
	// DifferencesTotal counts them all.
	Differences      []Difference `json:"differences"`
	DifferencesTotal int          `json:"differences_total"`

	limit   int          // Config.MaxDifferences
	unknown []Difference // those that finish adds to Differences
}

func newReport(cfg Config, sampled int) *Report {
	report := &Report{Seed: cfg.Seed, Sampled: sampled, Differences: []Difference{}, limit: cfg.MaxDifferences}
	for _, name := range fieldNames() {
		report.Fields = append(report.Fields, Field{Name: name})
	}
	return report
}

func (r *Report) sawSlot(slot uint64) {
	if r.FromSlot == 0 || slot < r.FromSlot {
		r.FromSlot = slot
	}
	r.ToSlot = max(r.ToSlot, slot)
}

func (r *Report) field(name string) *Field {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return &r.Fields[i]
		}
	}
	r.Fields = append(r.Fields, Field{Name: name})
	return &r.Fields[len(r.Fields)-1]
}

// add counts a mint's findings. troubled means that an earlier round had to read the mint again.
func (r *Report) add(result result, troubled bool) {
	if troubled && !result.unsettled(true) {
		r.Settled++
	}
	if result.metaplexUnreadable {
		r.MetaplexUnreadable++
	}
	for _, f := range result.findings {
		field := r.field(f.field)
		difference := Difference{Mint: result.mint, Field: f.field, Item: f.item, Verdict: f.verdict, Slot: result.slot, Here: f.here, There: f.there}
		switch f.verdict {
		case Equal:
			field.Equal++
			continue
		case Moved:
			field.Moved++
			continue
		case Differ:
			field.Differ++
			if len(r.Differences) < r.limit {
				r.Differences = append(r.Differences, difference)
			}
		case UnknownHere, UnknownThere:
			if f.verdict == UnknownHere {
				field.UnknownHere++
			} else {
				field.UnknownThere++
			}
			if len(r.unknown) < r.limit {
				r.unknown = append(r.unknown, difference)
			}
		}
		r.DifferencesTotal++
	}
}

// finish computes the ratios, and appends unknown to Differences, as far as there is room.
func (r *Report) finish() {
	ratio := func(part, whole int) *float64 {
		if whole == 0 {
			return nil
		}
		value := float64(part) / float64(whole)
		return &value
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		f.Compared = f.Equal + f.Differ
		f.Accuracy, f.Known = ratio(f.Equal, f.Compared), ratio(f.Compared, f.Compared+f.UnknownHere)
	}
	r.Differences = append(r.Differences, r.unknown[:min(len(r.unknown), r.limit-len(r.Differences))]...)
}

// Check returns an error that names the fields below minAccuracy or minKnown, both from 0 to 1. It
// ignores FieldExtensionBalances.
func (r *Report) Check(minAccuracy, minKnown float64) error {
	var low []string
	for _, f := range r.Fields {
		if f.Name == FieldExtensionBalances {
			continue
		}
		if f.Accuracy != nil && *f.Accuracy < minAccuracy {
			low = append(low, fmt.Sprintf("accuracy of %s is %s", f.Name, percent(f.Accuracy)))
		}
		if f.Known != nil && *f.Known < minKnown {
			low = append(low, fmt.Sprintf("known of %s is %s", f.Name, percent(f.Known)))
		}
	}
	if len(low) == 0 {
		return nil
	}
	return fmt.Errorf("below the minimum: %s", strings.Join(low, ", "))
}

// percent rounds down, so that only a ratio of 1 shows as 100 %.
func percent(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f%%", float64(int(*ratio*1e5))/1e3)
}

// maxShown bounds a value in the text form, in characters. JSON has the whole value.
const maxShown = 60

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mints (seed %d), accounts read at slots %d to %d, registry at slot %d, %d rounds, %d settled late\n",
		r.Sampled, r.Seed, r.FromSlot, r.ToSlot, r.RegistrySlot, r.Rounds, r.Settled)
	if r.MetaplexUnreadable > 0 {
		fmt.Fprintf(&b, "%d Metaplex accounts are not readable\n", r.MetaplexUnreadable)
	}
	fmt.Fprintf(&b, "\n%-24s %10s %10s %8s %13s %14s %7s %10s %10s\n", "field", "compared", "equal", "differ", "unknown here", "unknown there", "moved", "accuracy", "known")
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "%-24s %10d %10d %8d %13d %14d %7d %10s %10s\n",
			f.Name, f.Compared, f.Equal, f.Differ, f.UnknownHere, f.UnknownThere, f.Moved, percent(f.Accuracy), percent(f.Known))
	}
	if r.DifferencesTotal > 0 {
		fmt.Fprintf(&b, "\n%d of %d differences:\n", len(r.Differences), r.DifferencesTotal)
	}
	for _, d := range r.Differences {
		name := d.Field
		if d.Item != "" {
			name += " " + d.Item
		}
		fmt.Fprintf(&b, "%s  %s  %s at slot %d: here %s, there %s\n", d.Mint, name, d.Verdict, d.Slot, shown(d.Here), shown(d.There))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func shown(value string) string {
	if runes := []rune(value); len(runes) > maxShown {
		value = string(runes[:maxShown]) + "…"
	}
	return fmt.Sprintf("%q", value)
}
