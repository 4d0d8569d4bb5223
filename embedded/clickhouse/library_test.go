package chengine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit"
)

// TestInstallersUseOnePlace: the script of a checkout and the binary install into the same file.
func TestInstallersUseOnePlace(t *testing.T) {
	cache := t.TempDir()
	script := exec.CommandContext(t.Context(), filepath.Join(testkit.Root(t), "tools/deps/libchdb.sh"), "--path")
	script.Env = append(os.Environ(), "MINTLAKE_CACHE_DIR="+cache)
	out, err := script.Output()
	require.NoError(t, err)
	t.Setenv("MINTLAKE_CACHE_DIR", cache)
	path, err := chengine.CachePath(chengine.Pinned())
	require.NoError(t, err)
	require.Equal(t, path+"\n", string(out))
}

// TestInstallersKnowOnePin: the binary embeds the script's pin.
func TestInstallersKnowOnePin(t *testing.T) {
	root := testkit.Root(t)
	script := exec.CommandContext(t.Context(), filepath.Join(root, "tools/deps/libchdb.sh"), "--pin")
	out, err := script.Output()
	require.NoError(t, err)
	embedded, err := os.ReadFile(filepath.Join(root, "embedded/clickhouse/libchdb.pin"))
	require.NoError(t, err)
	require.Equal(t, string(out), string(embedded), "run make gen")
}

func TestFindLibrary(t *testing.T) {
	t.Setenv("MINTLAKE_LIBCHDB", "")
	cache := t.TempDir()
	t.Setenv("MINTLAKE_CACHE_DIR", cache)
	_, err := chengine.FindLibrary()
	require.ErrorIs(t, err, chengine.ErrLibraryMissing)
	require.ErrorContains(t, err, cache)
	installed := filepath.Join(cache, "libchdb", chengine.Pinned().Version, "libchdb.so")
	require.NoError(t, os.MkdirAll(filepath.Dir(installed), 0o700))
	require.NoError(t, os.WriteFile(installed, nil, 0o600))
	found, err := chengine.FindLibrary()
	require.NoError(t, err)
	require.Equal(t, installed, found)

	t.Setenv("MINTLAKE_LIBCHDB", cache)
	_, err = chengine.FindLibrary()
	require.ErrorContains(t, err, "not a file")
	other := filepath.Join(cache, "other.so")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	t.Setenv("MINTLAKE_LIBCHDB", other)
	found, err = chengine.FindLibrary()
	require.NoError(t, err)
	require.Equal(t, other, found)
}
