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
	// Version is the libchdb that Mintlake is tested with, as its npm package writes it.
	Version string
	// Package is the npm package that delivers it.
	Package string
	// TarballSHA256 and LibrarySHA256 are hexadecimal: of what npm delivers, and of the libchdb.so
	// in it.
	TarballSHA256, LibrarySHA256 string
	// LibraryBytes is the size of libchdb.so.
	LibraryBytes int64
}

// Pinned is the libchdb of this version of Mintlake, the one that tools/deps/libchdb.sh names.
func Pinned() Pin {
	pin, err := parsePin(pinFile)
	if err != nil {
		panic(err) // the file is part of the binary, and a test reads it
	}
	return pin
}

// parsePin reads lines NAME=VALUE. Lines that begin with # are comments.
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
