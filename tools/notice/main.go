// Command notice writes NOTICE: every module that the binary links on the platforms of a release,
// with its licence.
//
//	go run ./tools/notice          write NOTICE
//
// It fails for a module whose licence it does not know or may not ship, unless exceptions.go says
// why it is right.
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := generate(".")
	if err == nil {
		err = os.WriteFile("NOTICE", text, 0o644) //nolint:gosec // for everybody to read
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}
