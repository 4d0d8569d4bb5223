// Package rapidseed lets property tests draw the same values in every run.
//
// In: MINTLAKE_TEST_SEED, a positive number, in the environment. Out: rapid's seed. Guarantees:
// without it every run draws other values, as a developer wants it; with it two runs draw the same,
// as a gate needs it: it fails for what a change did, never by the luck of a draw. Every package
// with property tests imports it for its effect alone.
package rapidseed

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // its flags must be there before they are set

	"github.com/mintlake/mintlake/internal/testkit"
)

func init() { // the flag has to be set before the tests read it, in each of their packages
	seed := os.Getenv("MINTLAKE_TEST_SEED")
	if seed == "" {
		return
	}
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic(fmt.Sprintf("MINTLAKE_TEST_SEED=%s: %v", seed, err))
	}
}

// Few lets the properties of t draw n times. It is for draws that cost a tenth of a second or more,
// such as those that ask ClickHouse. Rapid's own number stays with MINTLAKE_TEST_ROUNDS=full, and
// with -rapid.checks on the command line. The number is the process's: t must not be parallel.
func Few(t testing.TB, n int) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	all, err := strconv.Atoi(before)
	if err != nil {
		t.Fatalf("-rapid.checks=%s: %v", before, err)
	}
	if given {
		return
	}
	// Not flag.Set: the next call would take it for the command line's.
	if err := checks.Set(strconv.Itoa(testkit.Rounds(n, all))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(before) })
}
