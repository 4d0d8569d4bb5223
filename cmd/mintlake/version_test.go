package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionOfARelease builds the binary as a release does and asks it.
func TestVersionOfARelease(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "mintlake")
	flags := "-s -w -X main.version=1.2.3 -X main.commit=0123abcd -X main.date=2026-11-23T10:00:00Z"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flags, "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))

	line, err := exec.CommandContext(t.Context(), bin, "version").Output()
	require.NoError(t, err)
	require.Regexp(t, `^mintlake 1\.2\.3 \(commit 0123abcd, 2026-11-23T10:00:00Z, go\S+, linux/\w+\)\n$`, string(line))

	flag, err := exec.CommandContext(t.Context(), bin, "--version").Output()
	require.NoError(t, err)
	require.Equal(t, string(line), string(flag))

	document, err := exec.CommandContext(t.Context(), bin, "version", "--json").Output()
	require.NoError(t, err)
	var told map[string]any
	require.NoError(t, json.Unmarshal(document, &told))
	require.Equal(t, "1.2.3", told["version"])
	require.Equal(t, "0123abcd", told["commit"])
	require.Equal(t, "2026-11-23T10:00:00Z", told["date"])
	require.Equal(t, false, told["modified"])
}

// TestVersionOfACheckout: a build without -ldflags says what Go knows of the checkout.
func TestVersionOfACheckout(t *testing.T) {
	b := buildOf(&debug.BuildInfo{
		Main: debug.Module{Version: "v0.0.0-20261123104419-0123abcd4567+dirty"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123abcd"},
			{Key: "vcs.time", Value: "2026-11-23T10:44:19Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	})
	require.Equal(t, "0.0.0-20261123104419-0123abcd4567+dirty", b.Version)
	require.Contains(t, b.String(), "(commit 0123abcd with changes, 2026-11-23T10:44:19Z, ")

	b = buildOf(new(debug.BuildInfo))
	require.Equal(t, []string{"unknown", "unknown", "unknown"}, []string{b.Version, b.Commit, b.Date})
}

func TestVersionTakesNoArguments(t *testing.T) {
	root := rootCommand()
	root.SetArgs([]string{"version", "please"})
	root.SetOut(new(bytes.Buffer))
	require.Error(t, root.Execute())
}
