// Suites runs the suites of tests of table/suites.yaml, one after the other.
//
//	suites test          those of make test: what a change needs
//	suites gate          those of .ci/run: what must pass before a change lands
//	suites all           every suite that there is
//	suites run NAME      one of them
//
// ONLY=a,b leaves out all others. FAILED=1 leaves out those that have passed at this commit. No
// suite stops another one: each has its own verdict, which is kept by commit in bin/suites.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/mintlake/mintlake/tools/suites/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	t, err := table.Load()
	if err != nil {
		return err
	}
	chosen, err := choose(t, args, os.Getenv("ONLY"))
	if err != nil {
		return err
	}
	kept, err := openVerdicts(ctx)
	if err != nil {
		return err
	}
	if os.Getenv("FAILED") == "1" {
		chosen = slices.DeleteFunc(chosen, func(s table.Suite) bool { return kept.Verdicts[s.Name].Verdict == passed })
	}
	// Forty suites say too much for a terminal: what those of make test-all say is in their logs.
	r := &runner{needs: t.Needs, folder: kept.folder(), quiet: args[0] == "all"}
	var now []verdict
	for _, s := range chosen {
		v := r.run(ctx, s)
		if err := ctx.Err(); err != nil {
			return errors.New("stopped; the verdicts until now are kept")
		}
		now = append(now, v)
		if err := kept.add(v); err != nil {
			return err
		}
	}
	if args[0] == "all" {
		kept.print(os.Stdout, t.Suites)
	}
	return sum(os.Stdout, now, args[0] == "gate")
}

// choose returns the suites that args name. If only is not empty, it keeps the suites that only
// lists, separated by commas or spaces.
func choose(t *table.Table, args []string, only string) ([]table.Suite, error) {
	var wanted func(table.Suite) bool
	switch {
	case len(args) == 1 && slices.Contains([]string{"test", "gate", "all"}, args[0]):
		wanted = func(s table.Suite) bool { return slices.Contains(s.In, args[0]) }
	case len(args) == 2 && args[0] == "run":
		only, wanted = args[1], func(table.Suite) bool { return true }
	default:
		return nil, errors.New("usage: suites test|gate|all, or suites run NAME")
	}
	var chosen []table.Suite
	left := strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
	all := len(left) == 0
	for _, s := range t.Suites {
		i := slices.Index(left, s.Name)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		if wanted(s) && (all || i >= 0) {
			chosen = append(chosen, s)
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("there is no suite %s: see tools/suites/table/suites.yaml", strings.Join(left, ", "))
	}
	return chosen, nil
}
