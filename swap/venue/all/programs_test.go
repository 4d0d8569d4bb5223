package all_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// crate is the package that carries the programs. Nothing of it is compiled or committed.
const crate = "pump-rust-client"

// ammV4Sum is the same in all versions.
const ammV4Sum = "dc6ad79549928bacacea8c4c4505df58a9136c7c7aaf0ac73324ee79e8f9797c"

// builds are versions of the crate with the SHA-256 that their files must have. Version 0.1.7 is
// older than version 3 of the curve's instructions and than boosts.
var builds = map[string]map[string]string{
	"0.5.0": {
		"pump_amm.so":  "0f7963aa07aadab8a2846382d92ccde87669a7efd81223c9639933c07eccd054",
		"pump.so":      "aa7b9ec411e08bdcf6941a986075ebceaac9087d1f859f263f766349fdaaabc3",
		"pump_fees.so": "5b6ceda57863f0dcc3e0e3623052f8342c2c81883379699e71d7ed5383cb3dcf", "raydium_amm_v4.so": ammV4Sum,
	},
	"0.4.0": {
		"pump_amm.so":  "e90f9578de8a4d55aeb58e33cde5aef300094eef4a4971533f792f465124fc32",
		"pump.so":      "defc661c59c032c2f04ac54d3859ca5e2f81f1776c75746ded4cff461dca542e",
		"pump_fees.so": "2307575fbb3fb170d319aa25e33ed49f25d3218e5dfb7589863958c0d4eb5dfe", "raydium_amm_v4.so": ammV4Sum,
	},
	"0.2.0": {
		"pump_amm.so":  "057f73a907703f797500544db4d8ee7b656c43ddfc7fb00699eeba1a1a9a48b6",
		"pump.so":      "36dfc0a03bdfebbd64a3c34f37a9c407f659e5ef879a70fd18f1a3a5e1edf993",
		"pump_fees.so": "ca22c578caa28f56a14450b053fe71fb3b430f19aabed1e566613326e1dd1baa", "raydium_amm_v4.so": ammV4Sum,
	},
}

// programs are what the files of a build are.
var programs = map[string]venue.Key{
	"pump_amm.so": pumpswap.Program, "pump.so": pumpcurve.Program, "pump_fees.so": pumpfees.Program, "raydium_amm_v4.so": ammv4.Program,
}

// TestKnownBuildsAreRun: a venue quotes swaps of a known build at once, so it must be one that
// TestPrograms runs.
func TestKnownBuildsAreRun(t *testing.T) {
	for _, known := range trust.KnownBuilds {
		require.Contains(t, builds, strings.TrimPrefix(known.Name, crate+" "))
	}
}

// TestPrograms makes random swaps with our own transactions and runs them on the programs: the user
// gets what was quoted, and the compute units stay below the limit that the transaction sets. `make
// test-programs` runs it: it needs cargo, node and the network.
func TestPrograms(t *testing.T) {
	if os.Getenv("MINTLAKE_TEST_PROGRAMS") == "" {
		t.Skip("make test-programs runs this")
	}
	tool := filepath.Join(testkit.Root(t), "tools", "svm-check")
	if _, err := os.Stat(filepath.Join(tool, "node_modules", "litesvm")); err != nil {
		command(t, tool, "npm", "ci")
	}
	for version, sums := range builds {
		t.Run(version, func(t *testing.T) { runBuild(t, tool, fetchPrograms(t, version, sums)) })
	}
}

func runBuild(t *testing.T, tool, dir string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "swaps.jsonl")
	out, err := os.Create(file)
	require.NoError(t, err)
	encoder := json.NewEncoder(out)
	for name, program := range programs {
		require.NoError(t, encoder.Encode(map[string]string{"t": "program", "key": program.String(), "file": filepath.Join(dir, name)}))
	}
	scene := newScene(t, encoder)
	scene.run(caseCount(t))
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

// fetchPrograms has cargo fetch the crate, and checks the files.
func fetchPrograms(t *testing.T, version string, sums map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	manifest := "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n" + crate + " = \"=" + version + "\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte(manifest), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "src"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src", "lib.rs"), nil, 0o600))
	command(t, dir, "cargo", "fetch", "--quiet")
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		require.NoError(t, err)
		home = filepath.Join(user, ".cargo")
	}
	found, err := filepath.Glob(filepath.Join(home, "registry", "src", "*", crate+"-"+version, "artifacts"))
	require.NoError(t, err)
	require.NotEmpty(t, found, "cargo put the package elsewhere")
	for name, want := range sums {
		raw, err := os.ReadFile(filepath.Join(found[0], name))
		require.NoError(t, err)
		sum := sha256.Sum256(raw)
		require.Equal(t, want, hex.EncodeToString(sum[:]), name)
		known := func(k trust.KnownBuild) bool { return k.SHA256[programs[name]] == trust.Sum(raw) }
		require.True(t, slices.ContainsFunc(trust.KnownBuilds, known), "%s is of no known build", name)
	}
	return found[0]
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		notHere(t, name+" is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		notHere(t, fmt.Sprintf("%s %v: %v: %s", name, args, err, &out))
	}
}

// notHere skips the test, or fails it where it is required.
func notHere(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("MINTLAKE_REQUIRE_SVM") == "1" {
		t.Fatal(why)
	}
	t.Skipf("%s: the programs are not run (set MINTLAKE_REQUIRE_SVM=1 to make this a failure)", why)
}
