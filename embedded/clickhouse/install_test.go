package chengine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// standIn is a library of a few bytes, its pin, and the archive that npm would deliver.
func standIn(t *testing.T) (library, archive []byte, pin Pin) {
	t.Helper()
	library = bytes.Repeat([]byte("library "), 1000)
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, file := range []struct {
		name string
		data []byte
	}{{"package/package.json", []byte("{}")}, {"package/libchdb.so", library}} {
		require.NoError(t, files.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: int64(len(file.data))}))
		_, err := files.Write(file.data)
		require.NoError(t, err)
	}
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	sum := func(data []byte) string { s := sha256.Sum256(data); return hex.EncodeToString(s[:]) }
	return library, out.Bytes(), Pin{
		Version: "1.2.3", Package: "@test/library", TarballSHA256: sum(out.Bytes()),
		LibrarySHA256: sum(library), LibraryBytes: int64(len(library)),
	}
}

func inCache(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	t.Setenv("MINTLAKE_CACHE_DIR", cache)
	return cache
}

// fakeNPM puts an npm on the path that "fetches" archive when it is asked for the package of pin.
func fakeNPM(t *testing.T, archive []byte) {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "archive"), archive, 0o600))
	script := "#!/bin/sh\n[ \"$4\" = @test/library@1.2.3 ] || { echo \"npm error: $4 is not known\" >&2; exit 1; }\n" +
		"/bin/cp " + bin + "/archive test-library-1.2.3.tgz\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o700))
	t.Setenv("PATH", bin)
}

func TestPinIsWhole(t *testing.T) {
	pin := Pinned()
	require.Regexp(t, `^\d+\.\d+\.\d+`, pin.Version)
	require.Greater(t, pin.LibraryBytes, int64(100<<20))
	for _, damaged := range []string{"", "version", strings.Replace(pinFile, pin.TarballSHA256, "", 1), strings.Replace(pinFile, "library_bytes=", "library_bytes=x", 1)} {
		_, err := parsePin(damaged)
		require.ErrorContains(t, err, "libchdb.pin")
	}
}

func TestInstallByNPM(t *testing.T) {
	cache := inCache(t)
	library, archive, pin := standIn(t)
	fakeNPM(t, archive)
	path, err := (&Installer{Pin: pin, Log: io.Discard}).Install(t.Context())
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cache, "libchdb", "1.2.3", "libchdb.so"), path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, library, data)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "new.*"))
	require.NoError(t, err)
	require.Empty(t, left)

	// A library that is there is not fetched again.
	t.Setenv("PATH", t.TempDir())
	again, err := (&Installer{Pin: pin, Log: io.Discard}).Install(t.Context())
	require.NoError(t, err)
	require.Equal(t, path, again)
}

func TestInstallSaysWhatToDo(t *testing.T) {
	inCache(t)
	_, archive, pin := standIn(t)
	install := func(from string) error {
		_, err := (&Installer{Pin: pin, From: from, Log: io.Discard}).Install(t.Context())
		return err
	}
	t.Setenv("PATH", t.TempDir())
	err := install("")
	require.ErrorContains(t, err, "npm pack @test/library@1.2.3")
	require.ErrorContains(t, err, "mintlake deps --from FILE")

	fakeNPM(t, archive[:len(archive)-5])
	require.ErrorIs(t, install(""), ErrWrongLibrary, "another tarball than the pinned one")

	pin.Version = "9.9.9"
	require.ErrorContains(t, install(""), "npm error: @test/library@9.9.9 is not known")
	require.ErrorContains(t, install("/nowhere/x.tgz"), "/nowhere/x.tgz")
	_, err = (&Installer{Pin: pin}).Verify()
	require.ErrorContains(t, err, "run `mintlake deps`")
}

func TestInstallFromFileAndURL(t *testing.T) {
	library, archive, pin := standIn(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/libchdb.tgz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(archive)
	}))
	defer server.Close()
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	changed := bytes.Clone(library)
	changed[7000]++
	for name, c := range map[string]struct {
		from string
		bad  string
	}{
		"archive":           {from: write("a.tgz", archive)},
		"library":           {from: write("a.so", library)},
		"URL":               {from: server.URL + "/libchdb.tgz"},
		"changed":           {from: write("b.so", changed), bad: "not the pinned libchdb"},
		"longer":            {from: write("c.so", append(bytes.Clone(library), 0)), bad: "not the pinned libchdb"},
		"shorter":           {from: write("d.so", library[:10]), bad: "not the pinned libchdb"},
		"empty":             {from: write("e.so", nil), bad: "is empty"},
		"half an archive":   {from: write("f.tgz", archive[:len(archive)/2]), bad: "unexpected EOF"},
		"not on the server": {from: server.URL + "/other", bad: "404"},
		"no server":         {from: "http://user:hunter2@127.0.0.1:1/x", bad: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := inCache(t)
			installer := &Installer{Pin: pin, From: c.from, Log: io.Discard}
			path, err := installer.Install(t.Context())
			if c.bad != "" {
				require.ErrorContains(t, err, c.bad)
				require.NotContains(t, err.Error(), "hunter2", "no secret in an error")
				left, err := filepath.Glob(filepath.Join(cache, "libchdb", "1.2.3", "[^.]*"))
				require.NoError(t, err)
				require.Empty(t, left, "nothing is left behind")
				return
			}
			require.NoError(t, err)
			verified, err := installer.Verify()
			require.NoError(t, err)
			require.Equal(t, path, verified)
			require.NoError(t, os.WriteFile(path, changed, 0o600))
			_, err = installer.Verify()
			require.ErrorContains(t, err, "delete it and run `mintlake deps`")
		})
	}
}

// TestInstallTwiceAtOnce: one fetches, the other waits and takes what the first installed.
func TestInstallTwiceAtOnce(t *testing.T) {
	inCache(t)
	_, archive, pin := standIn(t)
	fetched := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched++
		_, _ = w.Write(archive)
	}))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := (&Installer{Pin: pin, From: server.URL, Log: io.Discard}).Install(t.Context())
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	server.Close()
	require.Equal(t, 1, fetched)
}
