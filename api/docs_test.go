package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

// The text for language models has every operation, and examples that run here.
func TestTextForLanguageModels(t *testing.T) {
	n := startNode(t, apitest.NewLog())
	text := string(n.get("/llms.txt").body)
	for _, route := range n.Routes() {
		if _, path, _ := strings.Cut(route, " "); strings.HasPrefix(path, "/tokens") {
			require.Contains(t, text, "### "+route+"\n")
		}
	}
	require.Contains(t, text, "curl 'http://"+n.Addr()+"/tokens?q=usdc&limit=5'")
	require.NotContains(t, text, "{base_url}")
}

// Where a reference with scripts is built in, /docs is that, and ?plain the page without.
func TestReferenceAndPlainPage(t *testing.T) {
	n := startNodeWith(t, apitest.NewLog(), func(deps *api.Deps) {
		deps.Docs = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "with scripts") })
	})
	require.Equal(t, "with scripts", string(n.get("/docs").body))
	plain := n.get("/docs?plain")
	require.Contains(t, string(plain.body), "Search the registry")
	require.NotContains(t, plain.Header.Get("Content-Security-Policy"), "script-src")
}

// TestEveryMetricIsDocumented holds docs/metrics.md to what the node exports.
func TestEveryMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "metrics.md"))
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
