package architecture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// The figures of the README are those of docs/benchmarks.md.
func TestReadmeTellsTheFiguresOfBenchmarks(t *testing.T) {
	root := testkit.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks.md"))
	require.NoError(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, search, found := strings.Cut(string(page), "\n## Search\n")
	require.True(t, found)
	search, _, _ = strings.Cut(search, "\n## ")
	want := fmt.Sprintf("at least %d times as many searches a second as PostgreSQL 15 and %d times as many as ClickHouse, with exact totals. "+
		"Lookups over HTTP reach %s of the rate of a handler that returns a constant, logos %s of nginx's, small reads through the JSON-RPC gateway %s of nginx's.",
		least(t, search, 3), least(t, search, 4),
		ratio(t, string(page), "lookups"), ratio(t, string(page), "logos of 2.3 KB, 64 connections"), ratio(t, string(page), "small reads (400 bytes), 32 connections"))
	require.Contains(t, strings.Join(strings.Fields(string(readme)), " "), want)
}

// ratio is the fifth cell of the row of a figure.
func ratio(t *testing.T, page, figure string) string {
	t.Helper()
	for line := range strings.Lines(page) {
		if cells := cellsOf(line); len(cells) == 6 && cells[0] == figure {
			return cells[4]
		}
	}
	t.Fatalf("docs/benchmarks.md has no figure %q", figure)
	return ""
}

// least is the least number of a column.
func least(t *testing.T, table string, column int) int {
	t.Helper()
	var numbers []int
	for line := range strings.Lines(table) {
		cells := cellsOf(line)
		if len(cells) <= column {
			continue
		}
		if number, err := strconv.Atoi(strings.ReplaceAll(cells[column], ",", "")); err == nil {
			numbers = append(numbers, number)
		}
	}
	require.NotEmpty(t, numbers)
	return slices.Min(numbers)
}

// cellsOf are the cells of a line of a table, without the spaces around them.
func cellsOf(line string) []string {
	line, found := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !found {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
