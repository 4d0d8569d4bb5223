package chengine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/durable"
)

// copiedDefinitions makes a folder with one definition, and returns its copies.
func copiedDefinitions(t *testing.T) (d *definitions, file, copies string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, engineDir, "metadata", "d.sql")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("ATTACH DATABASE d\n"), 0o600))
	d, err := loadDefinitions(&dataDir{path: dir})
	require.NoError(t, err)
	return d, file, filepath.Join(dir, definitionsFile)
}

func readCopies(t *testing.T, path string) (files map[string]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &files))
	return files
}

// TestADamagedDefinitionKeepsItsCopy: a file that is damaged while the engine runs is what copies
// are for.
func TestADamagedDefinitionKeepsItsCopy(t *testing.T) {
	d, file, copies := copiedDefinitions(t)
	require.NoError(t, d.update())
	require.NoError(t, os.WriteFile(file, make([]byte, 40), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "e.sql"), []byte("ATTACH DATABASE e\n"), 0o600))
	require.NoError(t, d.update())
	require.Equal(t, map[string]string{"metadata/d.sql": "ATTACH DATABASE d\n", "metadata/e.sql": "ATTACH DATABASE e\n"}, readCopies(t, copies))
	require.NoError(t, os.Remove(file))
	require.NoError(t, d.update())
	require.NotContains(t, readCopies(t, copies), "metadata/d.sql", "a dropped table has no copy")
}

// TestCopiesThatCannotBeWritten are written by the next call.
func TestCopiesThatCannotBeWritten(t *testing.T) {
	d, _, copies := copiedDefinitions(t)
	inTheWay := copies + durable.Suffix
	require.NoError(t, os.Mkdir(inTheWay, 0o700))
	require.Error(t, d.update())
	require.Error(t, d.update())
	require.NoError(t, os.Remove(inTheWay))
	require.NoError(t, d.update())
	require.Len(t, readCopies(t, copies), 1)
}
