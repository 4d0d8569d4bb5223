package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// metricLine is a line of the table of docs/metrics.md: name, type, labels, help.
var metricLine = regexp.MustCompile("(?m)^\\| `(mintlake_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]*) \\| (.*) \\|$")

// notInDemo are metrics that the demo does not have, with the reason.
var notInDemo = map[string]string{
	"mintlake_api_shared_limits_up":           "nothing in it is shared",
	"mintlake_api_shared_limits_errors_total": "nothing in it is shared",
	"mintlake_api_shared_limits_seconds":      "nothing in it is shared",
	"mintlake_gateway_balances_total":         "it does not answer balances itself",
}

// pageMetrics are the lines of the table, by name.
func pageMetrics(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "metrics.md"))
	require.NoError(t, err)
	lines := map[string][]string{}
	for _, match := range metricLine.FindAllStringSubmatch(string(text), -1) {
		lines[match[1]] = match[2:]
	}
	require.Greater(t, len(lines), 100)
	return lines
}

// holdMetricsPage compares the table of docs/metrics.md, which tools/metricspage writes from the
// source, with what a running demo has registered.
func holdMetricsPage(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	families, lines := gather(t, registry), pageMetrics(t)
	for name, about := range described(t, registry) {
		require.Contains(t, lines, name)
		require.Equal(t, []string{strings.Join(about.labels, ", "), about.help}, lines[name][1:], name)
		if family := families[name]; family != nil {
			require.Equal(t, strings.ToLower(family.GetType().String()), lines[name][0], name)
		}
		delete(lines, name)
	}
	require.Equal(t, keysOf(notInDemo), keysOf(lines), "nothing in the demo registers these")
}
