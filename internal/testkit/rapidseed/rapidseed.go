// Package rapidseed lets property tests draw the same values in every run.
//
// In: MINTLAKE_TEST_SEED, a positive number, in the environment. Out: rapid's seed. Guarantees:
// without the variable every run draws other values, which finds more bugs over time. With it all
// runs draw the same, so CI fails only because of a change, never by chance. Every package with
// property tests imports this one for its side effect.
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

// Few lets the properties of t draw only n times. It is for draws that take a tenth of a second or
// more, such as those that query ClickHouse. Rapid's own number is kept with
// MINTLAKE_TEST_ROUNDS=full, and if -rapid.checks is on the command line. The number is global to
// the process, so t must not be parallel.
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
	// Not flag.Set: the next call of Few would believe that the command line has set it.
	if err := checks.Set(strconv.Itoa(testkit.Rounds(n, all))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(before) })
}
