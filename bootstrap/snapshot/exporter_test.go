package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/snapshot"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
)

// TestExportOfATableThatKeepsWhatIsDead: the table keeps changes of supply that a later read
// covers, and facts of a mint that was closed. Whatever the messages were, what is exported and
// imported is the registry.
func TestExportOfATableThatKeepsWhatIsDead(t *testing.T) {
	dead := 0
	for seed := range 60 {
		rows, want := tableOf(registrytest.Messages(60).Example(seed))
		if len(rows) == 0 {
			continue
		}
		living, err := want.Count(t.Context())
		require.NoError(t, err)
		dead += len(rows) - int(living)

		folder := filepath.Join(t.TempDir(), "s")
		manifest := export(t, folder, nil, rows)
		require.Equal(t, living, manifest.Counts.Facts, "what is dead is left out")
		require.Equal(t, rootOf(want), manifest.Root.Hash)
		out := newLog()
		_, err = importInto(t, folder, filepath.Join(t.TempDir(), "i"), snapshot.Trust{Insecure: true}, out)
		require.NoError(t, err)
		for mint, state := range want {
			require.Equal(t, len(state.Facts()) > 0, out.states[mint] != nil, mint)
			if out.states[mint] != nil {
				require.Equal(t, state, out.states[mint])
			}
		}
		require.Equal(t, rootOf(want), rootOf(out.states))
	}
	require.Greater(t, dead, 20, "the messages make facts that are dead")
}

// failing is a source that ends with an error in the middle.
type failing struct{ table }

var errAway = errors.New("the server is away")

func (f failing) Facts(ctx context.Context, each func(registry.Fact) error) error {
	return errors.Join(f.table[:len(f.table)/2].Facts(ctx, each), errAway)
}

// unsorted tells a fact twice.
type unsorted struct{ table }

func (u unsorted) Facts(ctx context.Context, each func(registry.Fact) error) error {
	return append(u.table[:1:1], u.table...).Facts(ctx, each)
}

func TestAnExportThatFailsLeavesNothing(t *testing.T) {
	rows, _ := tableOf(registrytest.Messages(60).Example(1))
	for name, c := range map[string]struct {
		source snapshot.Source
		want   string
	}{
		"source fails":       {failing{rows}, errAway.Error()},
		"a fact comes twice": {unsorted{rows}, "comes twice"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			folder := filepath.Join(parent, "new")
			exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder}.WithFileRows(1), c.source)
			require.NoError(t, err)
			_, err = exporter.Run(t.Context())
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, folder)

			require.NoError(t, os.Mkdir(folder, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "README"), []byte("mine"), 0o600))
			_, err = exporter.Run(t.Context())
			require.ErrorContains(t, err, c.want)
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, 1, "what others put there stays, nothing else does")
		})
	}
}

// TestExportAfterAKilledOne: what a killed export left behind neither stops the next one nor gets
// into its snapshot. Files that look like parts of a snapshot but are not ours to remove are named
// before anything is read.
func TestExportAfterAKilledOne(t *testing.T) {
	folder := t.TempDir()
	left := filepath.Join(folder, ".export-unfinished")
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "facts-0099.parquet"), []byte("half"), 0o600))
	manifest := export(t, folder, nil, sample(1))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, len(manifest.Files)+1)

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "tokens.parquet"), []byte("half"), 0o600))
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: other}, sample(1))
	require.NoError(t, err)
	_, err = exporter.Run(t.Context())
	require.ErrorContains(t, err, "tokens.parquet")
	require.ErrorContains(t, err, "name another folder")
}

func TestExportRefusesAFolderWithASnapshot(t *testing.T) {
	folder := t.TempDir()
	export(t, folder, nil, sample(1))
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder}, sample(1))
	require.NoError(t, err)
	_, err = exporter.Run(t.Context())
	require.ErrorContains(t, err, "another one")
}
