package snapshot_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/bootstrap/snapshot"
	"github.com/mintlake/mintlake/registry/root"
)

func TestWhatIsNotAsSignedIsRefused(t *testing.T) {
	public, private := newKey(t)
	stranger, _ := newKey(t)
	trust := snapshot.Trust{Keys: []ed25519.PublicKey{public}}
	edit := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			path := filepath.Join(folder, name)
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, change(raw), 0o600))
		}
	}
	flip := func(raw []byte) []byte { raw[len(raw)/2] ^= 1; return raw }
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, name))) }
	}
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		trust  snapshot.Trust
		want   error
	}{
		"a stranger's":                           {func(*testing.T, string) {}, snapshot.Trust{Keys: []ed25519.PublicKey{stranger}}, snapshot.ErrSignature},
		"no signature":                           {remove(snapshot.SignatureName), trust, snapshot.ErrSignature},
		"signature broken":                       {edit(snapshot.SignatureName, flip), trust, snapshot.ErrSignature},
		"manifest changed":                       {edit(snapshot.ManifestName, flip), trust, snapshot.ErrSignature},
		"no manifest":                            {remove(snapshot.ManifestName), trust, snapshot.ErrManifest},
		"fact changed":                           {edit("facts-0000.parquet", flip), trust, snapshot.ErrContent},
		"fact changed later":                     {edit("facts-0001.parquet", flip), trust, snapshot.ErrContent},
		"tokens changed":                         {edit("tokens.parquet", flip), trust, snapshot.ErrContent},
		"file longer":                            {edit("facts-0000.parquet", func(raw []byte) []byte { return append(raw, 0) }), trust, snapshot.ErrContent},
		"file missing":                           {remove("facts-0000.parquet"), trust, snapshot.ErrContent},
		"another root, unsigned":                 {edit(snapshot.ManifestName, setRoot("hash", root.Sum{1})), snapshot.Trust{Insecure: true}, snapshot.ErrContent},
		"another root of version 2, unsigned":    {edit(snapshot.ManifestName, setRoot("hash_v2", root.Sum{1})), snapshot.Trust{Insecure: true}, snapshot.ErrContent},
		"a root of version 1 called 2, unsigned": {edit(snapshot.ManifestName, setRoot("version", 2)), snapshot.Trust{Insecure: true}, snapshot.ErrContent},
		"a path, unsigned": {edit(snapshot.ManifestName, func(raw []byte) []byte {
			return bytes.Replace(raw, []byte("facts-0000.parquet"), []byte("../0000.parquet"), 1)
		}), snapshot.Trust{Insecure: true}, snapshot.ErrManifest},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "s")
			export(t, folder, private, sample(1000))
			c.change(t, folder)
			out := newLog()
			_, err := importInto(t, folder, filepath.Join(t.TempDir(), "i"), c.trust, out)
			require.ErrorIs(t, err, c.want)
			require.Zero(t, out.records, "nothing is written before all is verified")
		})
	}
	_, err := snapshot.NewImporter(snapshot.ImportConfig{Folder: "x", StateFile: "y"}, newLog())
	require.ErrorContains(t, err, "--trust")
}

// setRoot returns a change of a manifest that sets a field of its root, or deletes it if value is
// nil.
func setRoot(field string, value any) func(raw []byte) []byte {
	return func(raw []byte) []byte {
		var m map[string]any
		_ = json.Unmarshal(raw, &m)
		in, _ := m["root"].(map[string]any)
		in[field] = value
		if value == nil {
			delete(in, field)
		}
		raw, _ = json.Marshal(m)
		return raw
	}
}

// TestManifestsOfOtherReleases: one from before version 2 has no hash of it, and a later release
// may write version 2 as the only one, or a version that this binary does not know.
func TestManifestsOfOtherReleases(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "s")
	manifest := export(t, folder, nil, sample(100))
	before, err := os.ReadFile(filepath.Join(folder, snapshot.ManifestName))
	require.NoError(t, err)
	for name, change := range map[string]func([]byte) []byte{
		"before": setRoot("hash_v2", nil),
		"later": func(raw []byte) []byte {
			return setRoot("hash_v2", nil)(setRoot("hash", *manifest.Root.HashV2)(setRoot("version", 2)(raw)))
		},
		"unknown": func(raw []byte) []byte {
			return setRoot("hash_v2", nil)(setRoot("hash", root.Sum{1})(setRoot("version", 9)(raw)))
		},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, snapshot.ManifestName), change(before), 0o600))
		out := newLog()
		_, err := importInto(t, folder, filepath.Join(t.TempDir(), "i"), snapshot.Trust{Insecure: true}, out)
		require.NoError(t, err, name)
		require.Positive(t, out.records, name)
	}
}

func FuzzParseManifest(f *testing.F) {
	folder := f.TempDir()
	export(f, folder, nil, sample(1))
	raw, err := os.ReadFile(filepath.Join(folder, snapshot.ManifestName))
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"format":1,"files":[{"name":"../x.parquet"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		manifest, err := snapshot.ParseManifest(raw)
		if err != nil {
			require.ErrorIs(t, err, snapshot.ErrManifest)
			return
		}
		for _, file := range manifest.Files {
			require.Equal(t, file.Name, filepath.Base(file.Name))
			require.True(t, strings.HasSuffix(file.Name, ".parquet"))
		}
	})
}
