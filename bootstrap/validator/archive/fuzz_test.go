package archive_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/validator/archive"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// FuzzManifest: no manifest makes the reader panic, or allocate more than the manifest is long.
func FuzzManifest(f *testing.F) {
	for release := 2; release <= 4; release++ {
		s := snapshotfile.Snapshot{Release: release, Slot: 1000, Lattice: snapshotfile.Sum()}
		f.Add(s.Manifest())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := archive.ReadManifest(bytes.NewReader(raw), int64(len(raw)))
		if err == nil {
			require.LessOrEqual(t, len(m.Storages)*32, len(raw))
			_ = m.BankHash()
		}
	})
}

// FuzzArchive: no archive makes the reader panic; what it yields lies within the archive.
func FuzzArchive(f *testing.F) {
	files, err := filepath.Glob("testdata/*.tar.zst")
	require.NoError(f, err)
	decoder, err := zstd.NewReader(nil)
	require.NoError(f, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		raw, err = decoder.DecodeAll(raw, nil)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := archive.OpenTar(bytes.NewReader(raw))
		if err != nil {
			return
		}
		defer r.Close()
		var chunk archive.Chunk
		seen := 0
		for {
			storage, err := r.Next()
			if err != nil {
				break
			}
			for err == nil {
				if err = storage.Fill(&chunk); err != nil && !errors.Is(err, io.EOF) {
					return
				}
				for _, account := range chunk.Accounts() {
					seen += 136 + len(account.Data)
				}
			}
		}
		require.LessOrEqual(t, seen, len(raw))
	})
}

// FuzzName: names come from servers.
func FuzzName(f *testing.F) {
	f.Add("incremental-snapshot-1-4-43FT6mnmRW9XbxpCzqH3ogYexHXboG7d8vmf3gBLvLrR.tar.zst")
	f.Fuzz(func(t *testing.T, name string) {
		parsed, err := archive.ParseName(name)
		if err == nil && !parsed.Incremental {
			require.Zero(t, parsed.Base)
		}
	})
}
