// Command swap measures the swap room against its peers, in the same run: quotes against one
// division and against the venues' own SDKs, routes with and without updates of the state, HTTP
// against a constant handler and at a fixed rate, how soon an update is quotable, restarts, cold
// starts, and memory. It fails when a goal is missed.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/bench/report"
)

// part is one thing that is measured.
type part struct {
	name string
	run  func(r *report.Report) error
}

// parts are what is measured, in this order.
var parts = []part{
	{"division", divisions},
	{"sdk", sdks},
	{"memory", memory},
	{"windows", windows},
	{"route", routes},
	{"update", updates},
	{"http", overHTTP},
	{"latency", latency},
	{"restart", restarts},
	{"cold", coldStarts},
}

func main() {
	only := flag.String("only", "", "parts to run, separated by commas; default all")
	serve := flag.Int("serve-accounts", 0, "serve so many pools as a JSON-RPC server does, and print the address (used by the program itself)")
	flag.Parse()
	if err := run(*only, *serve); err != nil {
		fmt.Fprintln(os.Stderr, "swap:", err)
		os.Exit(1)
	}
}

func run(only string, serve int) error {
	if serve > 0 {
		return serveAccounts(serve)
	}
	wanted := strings.FieldsFunc(only, func(c rune) bool { return c == ',' })
	for _, name := range wanted {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("no part %q", name)
		}
	}
	r := report.New("bench-swap")
	for _, p := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, p.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "bench-swap:", p.name)
		if err := p.run(r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := r.Write(); err != nil {
		return err
	}
	if missed := r.Missed(); missed > 0 {
		return fmt.Errorf("%d goals are missed", missed)
	}
	return nil
}
