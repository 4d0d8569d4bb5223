package chengine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/internal/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit"
)

// TestInstallerKnowsTheSameVersion: the script that installs the library and the code that looks for it must agree.
func TestInstallerKnowsTheSameVersion(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "tools/deps/libchdb.sh"))
	require.NoError(t, err)
	require.Contains(t, string(text), "\nversion="+chengine.LibraryVersion+"\n")
}

func TestFindLibrary(t *testing.T) {
	t.Setenv("MINTLAKE_LIBCHDB", "")
	cache := t.TempDir()
	t.Setenv("MINTLAKE_CACHE_DIR", cache)
	_, err := chengine.FindLibrary("")
	require.ErrorIs(t, err, chengine.ErrLibraryMissing)
	require.ErrorContains(t, err, cache)
	installed := filepath.Join(cache, "libchdb", chengine.LibraryVersion, "libchdb.so")
	require.NoError(t, os.MkdirAll(filepath.Dir(installed), 0o700))
	require.NoError(t, os.WriteFile(installed, nil, 0o600))
	found, err := chengine.FindLibrary("")
	require.NoError(t, err)
	require.Equal(t, installed, found)

	_, err = chengine.FindLibrary(cache)
	require.ErrorContains(t, err, "not a file")
	other := filepath.Join(cache, "other.so")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	t.Setenv("MINTLAKE_LIBCHDB", other)
	found, err = chengine.FindLibrary("")
	require.NoError(t, err)
	require.Equal(t, other, found)
}
