// Package svmtest runs the venues' own programs in LiteSVM for the swap room's tests.
//
// The programs are files of a published package, which cargo fetches. None of it is compiled or
// committed. Without cargo or Node a test is skipped, unless MINTLAKE_REQUIRE_SVM=1.
package svmtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/ammv4"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
	"github.com/mintlake/mintlake/swap/venue/pumpfees"
	"github.com/mintlake/mintlake/swap/venue/pumpswap"
)

// Crate is the package that has the programs.
const Crate = "pump-rust-client"

// ammV4Sum is the SHA-256 of the program AMM v4, which is the same in all versions of the crate.
const ammV4Sum = "dc6ad79549928bacacea8c4c4505df58a9136c7c7aaf0ac73324ee79e8f9797c"

// Old is a version of the crate from before version 3 of the curve's instructions and before
// boosts. Our quotes are wrong for it.
const Old = "0.1.7"

// Builds has the SHA-256 of each file by the version of the crate and the name of the file. Quoted
// are the versions for which our quotes are right.
var (
	Builds = map[string]map[string]string{
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
		Old: {
			"pump_amm.so":  "ea46027645b4afbbfc52f6d8ffcee86061542f9f9f27ebd15753290713adde48",
			"pump.so":      "933f8e3655719c1a28968ac698327bd0dc70644eeabab96363b1138ccd7c4f9b",
			"pump_fees.so": "8dfd7c7db07833e30140303838c10d091f8e8d2239816830dda238ebca1de43c", "raydium_amm_v4.so": ammV4Sum,
		},
	}
	Quoted = []string{"0.5.0", "0.4.0", "0.2.0"}
)

// Programs maps the files of a build to the programs' addresses.
var Programs = map[string]venue.Key{
	"pump_amm.so": pumpswap.Program, "pump.so": pumpcurve.Program, "pump_fees.so": pumpfees.Program, "raydium_amm_v4.so": ammv4.Program,
}

// Tool returns the folder of the scripts. It installs LiteSVM there if LiteSVM is missing.
func Tool(t testing.TB) string {
	t.Helper()
	tool := filepath.Join(testkit.Root(t), "tools", "svm-check")
	if err := testkit.NodePackages(tool); err != nil {
		notHere(t, err.Error())
	}
	return tool
}

// Fetch fetches a version of the crate by cargo, checks its files, and returns their folder.
func Fetch(t testing.TB, version string) string {
	t.Helper()
	found := fetched(t, version)
	if found == "" {
		dir := t.TempDir()
		manifest := "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n" + Crate + " = \"=" + version + "\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte(manifest), 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(dir, "src"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "src", "lib.rs"), nil, 0o600))
		command(t, dir, "cargo", "fetch", "--quiet")
		found = fetched(t, version)
	}
	require.NotEmpty(t, found, "cargo put the package elsewhere")
	for name, want := range Builds[version] {
		raw, err := os.ReadFile(filepath.Join(found, name))
		require.NoError(t, err)
		sum := sha256.Sum256(raw)
		require.Equal(t, want, hex.EncodeToString(sum[:]), name)
	}
	return found
}

// fetched returns the folder where cargo keeps the files of a version; empty if it does not have
// them.
func fetched(t testing.TB, version string) string {
	t.Helper()
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		require.NoError(t, err)
		home = filepath.Join(user, ".cargo")
	}
	// cargo writes this file when all others are there.
	found, err := filepath.Glob(filepath.Join(home, "registry", "src", "*", Crate+"-"+version, ".cargo-ok"))
	require.NoError(t, err)
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(filepath.Dir(found[0]), "artifacts")
}

func command(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		notHere(t, name+" is not installed")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // cargo
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		notHere(t, fmt.Sprintf("%s %v: %v: %s", name, args, err, &out))
	}
}

// notHere skips the test, or fails it if MINTLAKE_REQUIRE_SVM is 1.
func notHere(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("MINTLAKE_REQUIRE_SVM") == "1" {
		t.Fatal(why)
	}
	t.Skipf("%s: the programs are not run (set MINTLAKE_REQUIRE_SVM=1 to make this a failure)", why)
}
