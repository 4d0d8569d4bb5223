package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestReleases: the upgrade page has a row for each step between two releases of the changelog and
// one from the last to main, and the chart is of the last.
func TestReleases(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(testkit.Root(t), filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(text)
	}
	releases := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$`).FindAllStringSubmatch(read("CHANGELOG.md"), -1)
	require.NotEmpty(t, releases)
	steps, day := [][]string{}, "9999"
	next := "main"
	for _, release := range releases { // the newest first
		require.LessOrEqual(t, release[2], day, "%s is older than the release below it", release[1])
		steps = append([][]string{{release[1], next}}, steps...)
		next, day = release[1], release[2]
	}
	rows := [][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d\S*) \| (\S+) \|`).FindAllStringSubmatch(read("docs/upgrade.md"), -1) {
		rows = append(rows, row[1:])
	}
	require.Equal(t, steps, rows, "rows of docs/upgrade.md")
	chart := read("deploy/helm/mintlake/Chart.yaml")
	require.Contains(t, chart, "\nversion: "+releases[0][1]+"\n")
	require.Contains(t, chart, "\nappVersion: \""+releases[0][1]+"\"\n")
}
