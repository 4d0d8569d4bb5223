package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

var updatePage = flag.Bool("update-metrics", false, "write the table of docs/metrics.md anew")

const (
	tableBegins = "<!-- begin: metrics -->\n"
	tableEnds   = "<!-- end: metrics -->\n"
)

// holdMetricsPage compares the table of docs/metrics.md with what the registry exposes: a metric
// without its line, and a line without its metric, fail. `go test ./cmd/mintlake -run
// TestObservability -update-metrics` writes it anew.
func holdMetricsPage(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	path := filepath.Join(testkit.Root(t), "docs", "metrics.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(page), tableBegins)
	require.True(t, found)
	table, after, found := strings.Cut(rest, tableEnds)
	require.True(t, found)
	made := metricsTable(t, registry)
	if *updatePage {
		require.NoError(t, os.WriteFile(path, []byte(before+tableBegins+made+tableEnds+after), 0o600))
		return
	}
	require.Equal(t, strings.Split(table, "\n"), strings.Split(made, "\n"))
}

func metricsTable(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("| metric | type | labels | what |\n|---|---|---|---|\n")
	families, all := gather(t, registry), described(t, registry)
	for _, name := range keysOf(all) {
		kind := "counter" // of those that have no series yet
		if family := families[name]; family != nil {
			kind = strings.ToLower(family.GetType().String())
		}
		out.WriteString("| `" + name + "` | " + kind + " | " + strings.Join(all[name].labels, ", ") + " | " + all[name].help + " |\n")
	}
	return out.String()
}
