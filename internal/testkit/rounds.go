package testkit

import "os"

// Rounds returns how often a test repeats something random or slow: few times, or full times with
// MINTLAKE_TEST_ROUNDS=full (make test-rounds).
func Rounds(few, full int) int {
	if os.Getenv("MINTLAKE_TEST_ROUNDS") == "full" {
		return full
	}
	return few
}
