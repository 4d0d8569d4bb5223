package snapshot_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/snapshot"
)

// TestImportOfAnotherChain: the manifest names its chain, and nothing is written of another one.
func TestImportOfAnotherChain(t *testing.T) {
	folder := t.TempDir()
	exporter, err := snapshot.NewExporter(snapshot.ExportConfig{Folder: folder, GenesisHash: "ours"}, sample(3))
	require.NoError(t, err)
	manifest, err := exporter.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "ours", manifest.GenesisHash)

	errOther := errors.New("another chain")
	read := func(data string) (*log, error) {
		out := newLog()
		importer, err := snapshot.NewImporter(snapshot.ImportConfig{
			Folder: folder, Trust: snapshot.Trust{Insecure: true}, StateFile: filepath.Join(t.TempDir(), "state.json"),
			CheckChain: func(_ context.Context, genesis string) error {
				if genesis != data {
					return errOther
				}
				return nil
			},
		}, out)
		require.NoError(t, err)
		_, err = importer.Run(t.Context())
		return out, err
	}
	out, err := read("theirs")
	require.ErrorIs(t, err, errOther)
	require.Empty(t, out.states)
	out, err = read("ours")
	require.NoError(t, err)
	require.NotEmpty(t, out.states)
}
