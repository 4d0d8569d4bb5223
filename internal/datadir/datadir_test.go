package datadir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/datadir"
)

// write makes files in a new folder; a name that ends in / is a folder.
func write(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		if name[len(name)-1] == '/' {
			require.NoError(t, os.MkdirAll(path, 0o750))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	return dir
}

func TestClaim(t *testing.T) {
	for name, files := range map[string][]string{
		"empty": nil, "mounted disk": {"lost+found/"}, "earlier": {"kafka/MINTLAKE_KAFKA", "clickhouse/", "logos/", "demo.json", "notes.txt"},
		"earlier, of the engine alone": {"clickhouse/mintlake-clickhouse.json"}, "earlier, of a bootstrap": {"bootstrap-rpc.json", "bootstrap-rpc.json.new"},
		"killed while marking": {"MINTLAKE_DATA.123"},
	} {
		dir := write(t, files...)
		require.NoError(t, datadir.Claim(dir), name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
		require.NoError(t, datadir.Claim(dir), "%s: once it is ours, it stays", name)
	}
	deep := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, datadir.Claim(deep), "a missing folder is made")
	require.FileExists(t, filepath.Join(deep, "MINTLAKE_DATA"))
}

// TestClaimRefuses: and leaves the folder as it was.
func TestClaimRefuses(t *testing.T) {
	for name, files := range map[string][]string{
		"/etc": {"passwd", "kafka/server.properties"}, "a home": {".bashrc"}, "recordings and more": {"recordings/", "photos/"},
	} {
		dir := write(t, files...)
		before, err := os.ReadDir(dir)
		require.NoError(t, err)
		err = datadir.Claim(dir)
		require.ErrorContains(t, err, dir, name)
		require.ErrorContains(t, err, "--data-dir")
		after, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, after, len(before))
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "MINTLAKE_DATA"), []byte("mintlake data folder, format 2\n"), 0o600))
	require.ErrorContains(t, datadir.Claim(dir), "format 2")
	require.ErrorContains(t, datadir.Claim(dir), "its marker MINTLAKE_DATA is damaged")
	require.ErrorContains(t, datadir.Claim(filepath.Join(write(t, "file"), "file")), "not a directory")
}

// TestFilesAreTheirOwnersAlone: what an earlier version left readable is closed once, and files
// made afterwards are closed whatever mode their maker asks for, as the embedded engines ask for
// 0644.
func TestFilesAreTheirOwnersAlone(t *testing.T) {
	open := func(dir, name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		require.NoError(t, os.Chmod(path, 0o644))
		return path
	}
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	for name, marker := range map[string]string{"marked": "MINTLAKE_DATA", "before the marker": "kafka/MINTLAKE_KAFKA"} {
		dir := t.TempDir()
		open(dir, marker)
		if marker == "MINTLAKE_DATA" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, marker), []byte("mintlake data folder, format 1\n"), 0o600))
		}
		segment, part := open(dir, "kafka/broker/partitions/t-0/0.dat"), open(dir, "clickhouse/engine/store/a/b/data.bin")
		require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "kafka/broker/link")))
		require.NoError(t, datadir.Claim(dir), name)
		for _, path := range []string{segment, part, filepath.Join(dir, "MINTLAKE_DATA")} {
			require.Equal(t, os.FileMode(0o600), mode(path), "%s: %s", name, path)
		}
		later := filepath.Join(dir, "later")
		require.NoError(t, os.WriteFile(later, nil, 0o644)) // as kfake writes
		require.Equal(t, os.FileMode(0o600), mode(later))
	}
}
