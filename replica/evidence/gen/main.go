// Command gen makes confusables.txt of package evidence.
//
// In: the path of src/tables.rs of crate unicode-security, which is made from Unicode's own
// confusables.txt. Out: on standard output one line a mapping, `SOURCE TARGET…` in hexadecimal.
// Guarantees: sorted, so that equal data gives equal bytes.
//
//	cargo fetch
//	crate=$(echo ~/.cargo/registry/src/*/unicode-security-0.1.3)
//	go run ./replica/evidence/gen $crate/src/tables.rs > replica/evidence/confusables.txt
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	version = regexp.MustCompile(`UNICODE_VERSION: \(u64, u64, u64\) = \((\d+), (\d+), (\d+)\)`)
	pair    = regexp.MustCompile(`\('\\u\{([0-9a-f]+)\}',\s*&\[([^\]]*)\]\)`)
	char    = regexp.MustCompile(`\\u\{([0-9a-f]+)\}`)
)

const header = `# Prototypes of confusable characters, UTS #39 (https://www.unicode.org/reports/tr39/), Unicode %s.
# SOURCE TARGET..., hexadecimal. Made by replica/evidence/gen from the table of crate unicode-security; do not edit.
# Data: Copyright (c) Unicode, Inc.; confusables.LICENSE is its licence and goes with it.
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen PATH/tables.rs")
		os.Exit(2)
	}
	source, err := os.ReadFile(os.Args[1]) //nolint:gosec // whoever generates names the file
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text := string(source)
	v := version.FindStringSubmatch(text)
	start := strings.Index(text, "const CONFUSABLES: &'static [(char, &'static [char])]")
	if v == nil || start < 0 {
		fmt.Fprintln(os.Stderr, "the file has no table of confusables")
		os.Exit(1)
	}
	text = text[start:]
	text, _, _ = strings.Cut(text, "\n    ];")
	fmt.Printf(header, strings.Join(v[1:], "."))
	for _, m := range pair.FindAllStringSubmatch(text, -1) {
		fmt.Print(strings.ToUpper(m[1]))
		for _, target := range char.FindAllStringSubmatch(m[2], -1) {
			fmt.Print(" ", strings.ToUpper(target[1]))
		}
		fmt.Println()
	}
}
