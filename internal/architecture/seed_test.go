package architecture

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A package whose tests draw values takes its seed from the environment: else the gate could fail
// by the luck of a draw.
func TestPropertyTestsTakeTheirSeed(t *testing.T) {
	drawing := 0
	for _, line := range list(t, "-f", `{{.ImportPath}},{{join .TestImports ","}},{{join .XTestImports ","}}`, "./...") {
		fields := strings.Split(line, ",")
		if !slices.Contains(fields, "pgregory.net/rapid") {
			continue
		}
		drawing++
		require.Contains(t, fields, module+"internal/testkit/rapidseed", "tests of %s use rapid: import internal/testkit/rapidseed for its effect", fields[0])
	}
	require.Greater(t, drawing, 10)
}
