package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/durable"
)

func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, os.WriteFile(name+durable.Suffix, []byte("half of what a kill left, and longer"), 0o600))
	for _, content := range []string{"old", "new"} {
		require.NoError(t, durable.Replace(name, []byte(content)))
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
		require.NoFileExists(t, name+durable.Suffix)
	}
}

// TestAFailureKeepsTheOldFile: of a disk that takes no more, for one.
func TestAFailureKeepsTheOldFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, durable.Replace(name, []byte("old")))
	require.NoError(t, os.Mkdir(name+durable.Suffix, 0o700)) // nothing can be written there
	require.Error(t, durable.Replace(name, []byte("new")))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
}
