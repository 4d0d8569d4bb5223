package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestEveryMetricIsDocumented holds docs/api.md to what the node exports.
func TestEveryMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "api.md"))
	require.NoError(t, err)
	log, a := threeTokens()
	n := startNode(t, log, limited).awaitReady()
	n.get("/tokens/" + a[0])
	families, err := n.registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	for _, family := range families {
		require.Contains(t, string(page), family.GetName())
	}
}
