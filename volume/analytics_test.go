package volume_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// TestAnalyticsQueriesRun runs what docs/analytics.md shows; TestAnalyticsQueriesAnswer in e2e
// looks at the answers.
func TestAnalyticsQueriesRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs/analytics.md"))
	require.NoError(t, err)
	s := migrated(t)
	s.insert(t, leg{at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 100e9, got: 20_000 * whole, reserveIn: 5_000e9, reserveOut: 1_000_000 * whole, trader: "ann"}.record(t),
		leg{n: 1, at: noon.Add(time.Minute), pool: "sol-usdc", in: usdc, out: sol, paid: 20_000 * whole, got: 99e9, reserveIn: 1_000_000 * whole, reserveOut: 5_000e9, trader: "ann"}.record(t),
		leg{n: 2, at: noon.Add(time.Minute), pool: "cat-dog", in: address("cat"), out: address("dog"), paid: 1, got: 1, trader: "bob"}.record(t))
	s.value(t)
	// These were stored after the valuation: not valued yet, in a minute that was valued and in one
	// that was not.
	s.insert(t, leg{n: 3, at: noon, pool: "sol-usdc", in: sol, out: usdc, paid: 1e9, got: 200 * whole, trader: "ann"}.record(t),
		leg{n: 4, at: noon.Add(2 * time.Minute), pool: "sol-usdc", in: sol, out: usdc, paid: 1e9, got: 200 * whole, trader: "ann"}.record(t))
	require.Equal(t, []string{"3"}, s.rows(t, "SELECT count() FROM mintlake.swaps WHERE usd_value IS NULL"))

	blocks := sqlBlock.FindAllSubmatch(page, -1)
	require.GreaterOrEqual(t, len(blocks), 20)
	answered := 0
	for _, block := range blocks {
		for query := range strings.SplitSeq(string(block[1]), ";\n") {
			if strings.Contains(query, "unpriced") {
				require.Len(t, s.rows(t, query), 1, "the leg of cat and dog; those not valued yet are none of them")
			}
			rows, err := s.conn.Query(t.Context(), query)
			require.NoError(t, err, query)
			if rows.Next() {
				answered++
			}
			require.NoError(t, rows.Err(), query)
			require.NoError(t, rows.Close())
		}
	}
	require.GreaterOrEqual(t, answered, 12, "queries about swaps find the legs")
	require.Equal(t, []string{noon.Format(time.DateTime), noon.Add(2 * time.Minute).Format(time.DateTime)}, s.rows(t, "SELECT toString(minute) FROM mintlake.waiting_minutes"))
}
