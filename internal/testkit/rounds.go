package testkit

import "os"

// Rounds is how often a test repeats what is random or costly: few times, and full times with
// MINTLAKE_TEST_ROUNDS=full (make test-rounds).
func Rounds(few, full int) int {
	if os.Getenv("MINTLAKE_TEST_ROUNDS") == "full" {
		return full
	}
	return few
}
