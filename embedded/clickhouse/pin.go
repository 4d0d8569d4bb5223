package chengine

import (
	_ "embed" // the pin
	"fmt"
	"strconv"
	"strings"
)

//go:embed libchdb.pin
var pinFile string

// Pin names one build of libchdb and the hashes that it must have.
type Pin struct {
	// Version is the version of libchdb that Mintlake is tested with, as its npm package writes it.
	Version string
	// Package is the name of the npm package.
	Package string
	// TarballSHA256 is the hash of the npm package, LibrarySHA256 that of the libchdb.so in it.
	// Both are hexadecimal.
	TarballSHA256, LibrarySHA256 string
	// LibraryBytes is the size of libchdb.so.
	LibraryBytes int64
}

// Pinned returns the libchdb of this version of Mintlake. tools/deps/libchdb.sh uses the same one.
func Pinned() Pin {
	pin, err := parsePin(pinFile)
	if err != nil {
		panic(err) // the file is part of the binary, and a test parses it
	}
	return pin
}

// parsePin parses lines of the form NAME=VALUE. A line that begins with # is a comment.
func parsePin(text string) (Pin, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return Pin{}, fmt.Errorf("libchdb.pin: %q is not NAME=VALUE", line)
		}
		values[name] = value
	}
	size, err := strconv.ParseInt(values["library_bytes"], 10, 64)
	if err != nil {
		return Pin{}, fmt.Errorf("libchdb.pin: library_bytes: %w", err)
	}
	pin := Pin{
		Version: values["version"], Package: values["package"], LibraryBytes: size,
		TarballSHA256: values["tarball_sha256"], LibrarySHA256: values["library_sha256"],
	}
	if pin.Version == "" || pin.Package == "" || len(pin.TarballSHA256) != 64 || len(pin.LibrarySHA256) != 64 {
		return Pin{}, fmt.Errorf("libchdb.pin: version, package, tarball_sha256 or library_sha256 is missing")
	}
	return pin, nil
}
