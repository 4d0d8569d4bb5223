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

	_ "pgregory.net/rapid" // its flags must be there before they are set
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
