package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var rebuildLine = regexp.MustCompile(`(?m)^ +mintlake (rebuild --tables .*)$`)

// TestDamagedPartsAreSeenAndMadeAgain damages ClickHouse's files while nothing runs. The next start
// says so, `verify` names the rows, and the commands that it prints bring each of them back.
func TestDamagedPartsAreSeenAndMadeAgain(t *testing.T) {
	t.Parallel()
	dir, kafka := t.TempDir(), kafkaFlags(t)
	up := launch(t, dir, append(sharedSources(t), kafka...)...)
	up.awaitDone()
	want := up.dump()
	folder := func(table string) string {
		// One part a partition: what is damaged below is what is read.
		up.query("OPTIMIZE TABLE mintlake." + table + " FINAL")
		paths := up.query("SELECT path FROM system.parts WHERE database = 'mintlake' AND table = '" + table + "' AND active ORDER BY rows DESC LIMIT 1")
		require.Len(t, paths, 1, table)
		return paths[0]
	}
	gone, flipped := folder("token_events_raw"), folder("swaps_raw")
	figures := []string{folder("volume_1m_raw"), folder("volume_1h_raw"), folder("prices_1m_raw")}
	until(t, func() bool {
		listed := manifest(t, dir)
		return !slices.ContainsFunc(append(figures, gone, flipped), func(part string) bool { return !strings.Contains(listed, filepath.Base(part)) })
	}, 100*time.Millisecond)
	require.Zero(t, up.stop())

	mintlake := func(args ...string) (int, string) {
		command := exec.Command(binary, append(append(append(args, "--data-dir", dir), freePorts()...), kafka...)...)
		out, err := command.CombinedOutput()
		var exit *exec.ExitError
		if err != nil {
			require.ErrorAs(t, err, &exit)
			return exit.ExitCode(), string(out)
		}
		return 0, string(out)
	}
	code, out := mintlake("verify")
	require.Zero(t, code, out)

	for _, part := range append(figures, gone) {
		// With the parts that it was merged of: from those ClickHouse would make it again.
		partition, _, _ := strings.Cut(filepath.Base(part), "_")
		parts, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Clean(part)), partition+"_*"))
		require.NoError(t, err)
		require.Contains(t, parts, filepath.Clean(part))
		for _, folder := range parts {
			require.NoError(t, os.RemoveAll(folder))
		}
	}
	data, err := filepath.Glob(filepath.Join(flipped, "*.bin"))
	require.NoError(t, err)
	text, err := os.ReadFile(data[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 4
	require.NoError(t, os.WriteFile(data[0], text, 0o600))

	up = launch(t, dir, append(kafka, "--source", "none")...)
	until(t, func() bool {
		_, body := up.get("/status")
		return strings.Contains(string(body), `"table":"token_events_raw"`) && strings.Contains(string(body), `"damage":"lost"`) &&
			strings.Contains(string(body), `"table":"swaps_raw"`)
	}, 100*time.Millisecond, "/status lists the damage")
	require.Contains(t, up.log(), "a part of a clickhouse table is damaged")
	require.Zero(t, up.stop())

	code, out = mintlake("verify")
	require.Equal(t, 1, code, out)
	require.Regexp(t, `token_events_raw, slots \d+ to \d+: expected \d+ rows, found \d+`, out)
	require.Contains(t, out, "swaps_raw                DIFFERS")
	for _, table := range []string{"volume_1m_raw", "volume_1h_raw", "prices_1m_raw"} {
		require.Regexp(t, table+`, \S+Z to \S+Z: expected \d+ rows, found \d+\n +mintlake rebuild --tables `+table+` --from-slot \d+ --to-slot \d+`, out)
	}
	require.Contains(t, out, "pool_volume_1d_raw       equal")
	for _, match := range rebuildLine.FindAllStringSubmatch(out, -1) {
		code, out := mintlake(strings.Fields(match[1])...)
		require.Zero(t, code, "%s: %s", match[1], out)
	}
	code, out = mintlake("verify")
	require.Zero(t, code, out)
	require.Contains(t, out, "volume_1m_raw            waiting", "rows of prices and volumes are made when the node runs")
	code, out = mintlake("verify", "--tables", "no_such_table")
	require.Equal(t, 2, code, out)

	up = launch(t, dir, append(kafka, "--source", "none")...)
	until(t, func() bool {
		_, body := up.get("/status")
		return strings.Contains(string(body), `"damaged_parts":[]`)
	}, 100*time.Millisecond, "nothing is damaged any more")
	requireEqualDumps(t, want, up.dump())
	require.Zero(t, up.stop())
}

func manifest(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "clickhouse", "parts.json"))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(t, err)
	return string(text)
}
