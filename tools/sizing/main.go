// Command sizing computes the table of nodes and partitions in docs/sizing.md from the measured
// costs that stand above it there.
//
// In: docs/sizing.md. Out: the same file with -write, else the table. Guarantees: no figure of the
// table is typed by hand; the test beside this file fails when the document and the formula differ.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	path := flag.String("doc", "docs/sizing.md", "the document")
	write := flag.Bool("write", false, "write the table into the document")
	flag.Parse()
	if err := run(*path, *write); err != nil {
		fmt.Fprintln(os.Stderr, "sizing:", err)
		os.Exit(1)
	}
}

func run(path string, write bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	costs, err := parseCosts(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	table, err := plan(costs)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !write {
		fmt.Print(table)
		return nil
	}
	updated, err := replaceTable(string(text), table)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(updated), 0o644); err != nil { //nolint:gosec // a document for everybody
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}
