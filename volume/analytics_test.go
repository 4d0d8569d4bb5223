package volume_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// TestAnalyticsQueriesRun runs what docs/analytics.md shows.
func TestAnalyticsQueriesRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs/analytics.md"))
	require.NoError(t, err)
	s := migrated(t)
	s.insert(t, leg{at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 100e9, got: 20_000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann"}.record(t),
		leg{n: 1, at: noon.Add(time.Minute), pool: "sol-usdc", in: usdc, out: sol, paid: 20_000 * whole, got: 99e9, reserveIn: 1_000_000 * whole, reserveOut: 5_000e9, trader: "ann"}.record(t))
	s.value(t)
	blocks := sqlBlock.FindAllSubmatch(page, -1)
	require.GreaterOrEqual(t, len(blocks), 20)
	answered := 0
	for _, block := range blocks {
		rows, err := s.conn.Query(t.Context(), string(block[1]))
		require.NoError(t, err, string(block[1]))
		if rows.Next() {
			answered++
		}
		require.NoError(t, rows.Err(), string(block[1]))
		require.NoError(t, rows.Close())
	}
	require.GreaterOrEqual(t, answered, 12, "queries about swaps find the two")
}
