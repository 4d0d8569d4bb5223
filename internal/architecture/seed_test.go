package architecture

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A package whose tests draw values takes its seed from the environment: else the gate could fail
// by the luck of a draw.
func TestPropertyTestsTakeTheirSeed(t *testing.T) {
	drawing := 0
	for _, p := range packages(t) {
		imported := slices.Concat(p.TestImports, p.XTestImports)
		if !slices.Contains(imported, "pgregory.net/rapid") {
			continue
		}
		drawing++
		require.Contains(t, imported, module+"internal/testkit/rapidseed", "tests of %s use rapid: import internal/testkit/rapidseed for its effect", p.ImportPath)
	}
	require.Greater(t, drawing, 10)
}
