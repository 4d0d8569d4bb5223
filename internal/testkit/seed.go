package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed returns the seed of a test that draws: MINTLAKE_TEST_SEED, which .ci/run sets, or another
// one in every run. It logs the seed, so that a failed run can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64() //nolint:gosec // a test may draw anything
	if text := os.Getenv("MINTLAKE_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MINTLAKE_TEST_SEED=%s: %v", text, err)
		}
	}
	t.Logf("MINTLAKE_TEST_SEED=%d", seed)
	return seed
}
