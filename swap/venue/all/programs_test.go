package all_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/svmtest"
	"github.com/mintlake/mintlake/swap/trust"
)

// TestKnownBuildsAreRun: a venue quotes swaps of a known build at once, so it must be one that
// TestPrograms runs.
func TestKnownBuildsAreRun(t *testing.T) {
	for _, known := range trust.KnownBuilds {
		version := strings.TrimPrefix(known.Name, svmtest.Crate+" ")
		require.Contains(t, svmtest.Quoted, version)
	}
}

// TestPrograms makes random swaps with our own transactions and runs them on the programs: the user
// gets what was quoted, and the compute units stay below the limit that the transaction sets. `make
// test-programs` runs it: it needs cargo, node and the network.
func TestPrograms(t *testing.T) {
	cases := svmtest.Cases(t)
	tool := svmtest.Tool(t)
	for _, version := range svmtest.Quoted {
		t.Run(version, func(t *testing.T) {
			dir := svmtest.Fetch(t, version)
			isKnown(t, dir)
			runBuild(t, tool, dir, cases)
		})
	}
}

func runBuild(t *testing.T, tool, dir string, cases int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "swaps.jsonl")
	out, err := os.Create(file)
	require.NoError(t, err)
	encoder := json.NewEncoder(out)
	for name, program := range svmtest.Programs {
		require.NoError(t, encoder.Encode(map[string]string{"t": "program", "key": program.String(), "file": filepath.Join(dir, name)}))
	}
	scene := newScene(t, encoder)
	scene.run(cases)
	require.NoError(t, out.Close())
	var r struct {
		Cases, Wrong int
		Units        map[string]uint32
		Mismatches   []struct{ ID, What, Want, Got string }
	}
	output, err := exec.CommandContext(t.Context(), "node", filepath.Join(tool, "swaps.mjs"), file).Output()
	require.NoError(t, json.Unmarshal(output, &r), "%v: %s", err, output)
	for _, m := range r.Mismatches {
		t.Errorf("%s: %s\n  quoted  %s\n  program %s", m.ID, m.What, m.Want, m.Got)
	}
	require.Zero(t, r.Wrong, "of %d", r.Cases)
	require.Equal(t, scene.cases, r.Cases)
	for kind, used := range r.Units {
		require.LessOrEqual(t, used, scene.limits[kind], kind)
		t.Logf("%s: %d swaps, at most %d of %d units", kind, scene.counts[kind], used, scene.limits[kind])
	}
}

// isKnown holds the files of a build to the sums by which trust knows it.
func isKnown(t *testing.T, dir string) {
	t.Helper()
	for name, program := range svmtest.Programs {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		known := func(k trust.KnownBuild) bool { return k.SHA256[program] == trust.Sum(raw) }
		require.True(t, slices.ContainsFunc(trust.KnownBuilds, known), "%s is of no known build", name)
	}
}
