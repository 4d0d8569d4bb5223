package chtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// TestSomething is the example of docs/embedded-clickhouse.md.
func TestSomething(t *testing.T) {
	conn, dsn := chtest.Start(t) // an empty database of this test, on the package's engine
	require.NoError(t, conn.Ping(t.Context()))
	require.Contains(t, dsn, "http://")

	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "embedded-clickhouse.md"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "```go\n")
	shown, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	own, err := os.ReadFile("page_test.go")
	require.NoError(t, err)
	for line := range strings.Lines(shown) {
		require.Contains(t, string(own), strings.TrimSpace(line))
	}
}
