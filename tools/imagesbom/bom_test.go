package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const binary = `{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
	"metadata": {"component": {"bom-ref": "m", "type": "application", "name": "github.com/mintlake/mintlake", "version": "v1.2.3"}},
	"components": [{"bom-ref": "g", "type": "library", "name": "google.golang.org/grpc", "version": "v1.80.0", "purl": "pkg:golang/google.golang.org/grpc@v1.80.0"}],
	"dependencies": [{"ref": "m", "dependsOn": ["g"]}]}`

const status = `Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13.dfsg-1
Description: compression library
 zlib is a library. It holds
 .
 several lines: and a colon.
Conffiles:
 /etc/zlib 0123456789abcdef

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: base-files
Status: install ok installed
Architecture: amd64
Version: 12.4+deb12u11
`

func sbom(t *testing.T, in input) []string {
	t.Helper()
	folder := t.TempDir()
	name := func(file string, text []byte) string {
		if len(text) == 0 {
			return ""
		}
		path := filepath.Join(folder, file)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	var out bytes.Buffer
	require.NoError(t, run(input{name: in.name, version: in.version}, name("binary", in.binary), name("status", in.status), name("libchdb", in.libchdb), &out))
	var read struct {
		Metadata struct {
			Component struct{ Type, Name, Version string }
		}
		Components []struct{ Name, PURL string }
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, struct{ Type, Name, Version string }{"container", "mintlake", "v1.2.3"}, read.Metadata.Component)
	var parts []string
	for _, component := range read.Components {
		part := component.PURL
		if part == "" {
			part = component.Name
		}
		parts = append(parts, part)
	}
	return parts
}

// TestImageSBOM: what the binary links, what is installed, and the engine's library are in it; what
// dpkg has removed is not.
func TestImageSBOM(t *testing.T) {
	in := input{name: "mintlake", version: "v1.2.3", binary: []byte(binary), status: []byte(status)}
	rooms := []string{
		"github.com/mintlake/mintlake", "pkg:golang/google.golang.org/grpc@v1.80.0",
		"pkg:deb/debian/base-files@12.4%2Bdeb12u11?arch=amd64", "pkg:deb/debian/zlib1g@1%3A1.2.13.dfsg-1?arch=amd64",
	}
	require.Equal(t, rooms, sbom(t, in))

	pin, err := os.ReadFile(filepath.Join("..", "..", "embedded", "clickhouse", "libchdb.pin"))
	require.NoError(t, err)
	in.libchdb = pin
	engine := sbom(t, in)
	require.Equal(t, rooms, engine[:len(rooms)])
	require.Regexp(t, `^pkg:npm/%40chdb/lib-linux-x64-gnu@\d`, engine[len(rooms)])
}

// TestImageSBOMRefuses: an SBOM that lacks a part is worse than none.
func TestImageSBOMRefuses(t *testing.T) {
	for name, in := range map[string]input{
		"no SBOM of the binary": {status: []byte(status)},
		"no components":         {binary: []byte(`{"bomFormat": "CycloneDX", "specVersion": "1.6"}`), status: []byte(status)},
		"no packages":           {binary: []byte(binary), status: []byte("Package: x\nStatus: deinstall ok config-files\n")},
		"no list of packages":   {binary: []byte(binary), status: []byte("<html>")},
		"a broken pin":          {binary: []byte(binary), status: []byte(status), libchdb: []byte("version=1\n")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := in.bom()
			require.Error(t, err)
		})
	}
}
