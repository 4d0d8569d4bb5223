// Command metricspage writes the table of docs/metrics.md: every metric that the code can register,
// with its type, labels and help.
//
//	go run ./tools/metricspage          write docs/metrics.md
//
// It reads the source and runs nothing. So the page has metrics that only some processes have, such
// as those of shared rate limits. The rest of the page is written by hand.
package main

import (
	"fmt"
	"os"
)

const page = "docs/metrics.md"

func main() {
	text, err := generate(".")
	if err == nil {
		err = os.WriteFile(page, []byte(text), 0o644) //nolint:gosec // for everybody to read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "metricspage:", err)
		os.Exit(1)
	}
}
