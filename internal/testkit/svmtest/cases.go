package svmtest

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cases returns how many swaps of each kind run on the venues' programs: MINTLAKE_TEST_PROGRAMS,
// which make test-programs sets. Without the variable it skips the test, because the test needs
// cargo, node and the network.
func Cases(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MINTLAKE_TEST_PROGRAMS")
	if text == "" {
		t.Skip("make test-programs runs this")
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "MINTLAKE_TEST_PROGRAMS=%s: how many swaps of each venue", text)
	return n
}
