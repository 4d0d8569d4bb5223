package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/mintlake/mintlake/tools/suites/table"
)

// Verdicts.
const (
	passed = "passed"
	failed = "failed"
	notRun = "not run"
)

// verdict is the result of a suite, with its time and its processor time in seconds.
type verdict struct {
	Suite     string  `json:"suite"`
	Verdict   string  `json:"verdict"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"processor_seconds"`
	Reason    string  `json:"reason,omitempty"`
	Log       string  `json:"log"`
}

func (v verdict) String() string {
	text := fmt.Sprintf("%s %s in %.0f s (processors: %.0f s)", v.Suite, v.Verdict, v.Seconds, v.Processor)
	switch v.Verdict {
	case notRun:
		text = v.Suite + " was not run: " + v.Reason
	case failed:
		text += ": " + v.Reason + "; see " + v.Log
	}
	return text
}

// verdicts are the verdicts at a commit, in bin/suites/COMMIT.json. With uncommitted changes the
// file is COMMIT-changed.json.
type verdicts struct {
	Commit   string             `json:"commit"`
	Verdicts map[string]verdict `json:"verdicts"`
}

// openVerdicts reads the verdicts of the present commit, changed or not.
func openVerdicts(ctx context.Context) (*verdicts, error) {
	commit, err := git(ctx, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return nil, err
	}
	changes, err := git(ctx, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		commit += "-changed"
	}
	k := &verdicts{Commit: commit, Verdicts: map[string]verdict{}}
	if err := os.MkdirAll(k.folder(), 0o750); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(k.folder() + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, k); err != nil {
		return nil, fmt.Errorf("%s.json: %w: remove it", k.folder(), err)
	}
	return k, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// folder is where the logs of the suites are.
func (k *verdicts) folder() string { return filepath.Join("bin", "suites", k.Commit) }

func (k *verdicts) add(v verdict) error {
	k.Verdicts[v.Suite] = v
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(k.folder()+".json", append(text, '\n'), 0o600)
}

// print prints the verdict of every suite of make test-all, of earlier runs at this commit too.
func (k *verdicts) print(out io.Writer, suites []table.Suite) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "suite\tverdict\tseconds\tprocessors\twhy")
	for _, s := range suites {
		if v, ok := k.Verdicts[s.Name]; ok {
			fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%s\n", s.Name, v.Verdict, v.Seconds, v.Processor, v.Reason)
		} else {
			fmt.Fprintf(w, "%s\tnot run\t\t\tnot asked for at this commit\n", s.Name)
		}
	}
	_ = w.Flush() // to a terminal
	fmt.Fprintf(out, "as JSON: %s.json\n", k.folder())
}

// sum prints what failed, and the slowest suite. In a gate a suite that was not run has failed too.
func sum(out io.Writer, now []verdict, gate bool) error {
	var bad []string
	var slowest verdict
	total := 0.0
	for _, v := range now {
		total += v.Seconds
		if v.Seconds > slowest.Seconds {
			slowest = v
		}
		if v.Verdict == failed || gate && v.Verdict == notRun {
			bad = append(bad, v.Suite)
			fmt.Fprintln(out, v)
		}
	}
	fmt.Fprintf(out, "%d suites in %.0f s; the slowest: %s, %.0f s\n", len(now), total, slowest.Suite, slowest.Seconds)
	if len(bad) > 0 {
		return errors.New("failed: " + strings.Join(bad, ", "))
	}
	return nil
}
