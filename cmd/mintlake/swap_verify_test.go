package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSwapVerify computes a swap again that was what a quote says, and one that was tampered with.
func TestSwapVerify(t *testing.T) {
	run := func(paths ...string) (string, error) {
		root := rootCommand()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(append([]string{"swap", "verify"}, paths...))
		err := root.Execute()
		return out.String(), err
	}
	right := filepath.Join("testdata", "swap_vector.json")
	out, err := run(right)
	require.NoError(t, err)
	require.Contains(t, out, "the same")
	require.NotContains(t, out, "NOT")

	raw, err := os.ReadFile(right)
	require.NoError(t, err)
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	require.NoError(t, os.WriteFile(wrong, bytes.Replace(raw, []byte(`"out": "`), []byte(`"out": "1`), 1), 0o600))
	out, err = run(right, wrong)
	require.ErrorIs(t, err, errMismatch)
	require.Equal(t, 1, exitCode(err))
	require.Contains(t, out, "NOT the same")
	require.Equal(t, 2, strings.Count(out, "quoted"))

	_, err = run(filepath.Join("testdata", "none.json"))
	require.Equal(t, 2, exitCode(err))
}
