// Package report writes the results of the benchmark programs.
//
// In: figures, each with its peer in the same run if it has one. Out: a table on standard output,
// and the same as JSON, with the commit and the machine, in the file NAME.json of the folder that
// BENCH_OUT names (make sets it to bin/bench). Guarantees: a ratio is always ours over the
// peer's.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
)

// Figure is one thing that was measured.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Peer is what Value is compared with; empty if with nothing.
	Peer      string  `json:"peer,omitempty"`
	PeerValue float64 `json:"peer_value,omitempty"`
	// Ratio is Value over PeerValue; Add sets it.
	Ratio float64 `json:"ratio,omitempty"`
	// Goal describes the bound that Value must keep; empty if there is none. Met says whether it
	// does.
	Goal string `json:"goal,omitempty"`
	Met  bool   `json:"met,omitempty"`
	// Note has further results.
	Note string `json:"note,omitempty"`
}

// Machine is where a report was made.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	// Load is the load average of a minute when the run began. A high one makes the figures worse.
	Load string `json:"load"`
}

// Report is the figures of one run.
type Report struct {
	Bench   string   `json:"bench"`
	Commit  string   `json:"commit"`
	Machine Machine  `json:"machine"`
	Figures []Figure `json:"figures"`
}

// New begins a report of the benchmark of that name.
func New(bench string) *Report {
	return &Report{Bench: bench, Commit: commit(), Machine: Machine{runtime.GOOS, runtime.GOARCH, cpu(), runtime.NumCPU(), load()}}
}

// Add adds a figure.
func (r *Report) Add(f Figure) {
	if f.PeerValue != 0 {
		f.Ratio = f.Value / f.PeerValue
	}
	r.Figures = append(r.Figures, f)
}

// Missed returns how many goals were not met.
func (r *Report) Missed() (missed int) {
	for i := range r.Figures {
		if r.Figures[i].Goal != "" && !r.Figures[i].Met {
			missed++
		}
	}
	return missed
}

// Write prints the table, and writes the JSON if a folder is named for it.
func (r *Report) Write() error {
	if err := r.WriteTable(os.Stdout); err != nil {
		return err
	}
	folder := os.Getenv("BENCH_OUT")
	if folder == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, r.Bench+".json"), append(text, '\n'), 0o600)
}

// WriteTable prints a line for the run, then one for each figure.
func (r *Report) WriteTable(w io.Writer) error {
	m := &r.Machine
	if _, err := fmt.Fprintf(w, "\n%s at %s on %s, %d cores, %s/%s, load %s\n", r.Bench, r.Commit, m.CPU, m.Cores, m.OS, m.Arch, m.Load); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Flush returns the first error of these writes.
	_, _ = fmt.Fprintln(table, "figure\tvalue\tpeer\tratio\tgoal\tnote")
	for i := range r.Figures {
		f := &r.Figures[i]
		peer, ratio, goal := "", "", ""
		if f.Peer != "" {
			peer = fmt.Sprintf("%s %s", f.Peer, number(f.PeerValue))
		}
		if f.Ratio != 0 {
			ratio = number(f.Ratio)
		}
		if f.Goal != "" {
			goal = f.Goal + ": MISSED"
			if f.Met {
				goal = f.Goal + ": met"
			}
		}
		_, _ = fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, peer, ratio, goal, f.Note)
	}
	return table.Flush()
}

// number formats v without an exponent, and with fewer decimals for larger numbers.
func number(v float64) string {
	switch {
	case v >= 1000 || v <= -1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// commit returns the commit that is checked out in the working folder, with a + if files differ
// from it.
func commit() string {
	id, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err == nil && len(changed) > 0 {
		return strings.TrimSpace(string(id)) + "+"
	}
	return strings.TrimSpace(string(id))
}

func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
