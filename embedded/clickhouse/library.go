package chengine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Supported returns an error that wraps ErrUnsupported unless a libchdb is pinned for this
// platform.
func Supported() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w, this is %s %s: use a ClickHouse server with --clickhouse-dsn", ErrUnsupported, runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// FindLibrary returns the path of libchdb.so: $MINTLAKE_LIBCHDB, or else the file in the cache that
// `mintlake deps` fills. Errors wrap ErrLibraryMissing or ErrUnsupported.
func FindLibrary() (string, error) {
	if err := Supported(); err != nil {
		return "", err
	}
	version := Pinned().Version
	remedy := "run `mintlake deps` (in a checkout `make deps`), or set MINTLAKE_LIBCHDB to the file, or use a ClickHouse server with --clickhouse-dsn"
	path := os.Getenv("MINTLAKE_LIBCHDB")
	if path == "" {
		cache, err := cacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: no cache folder (%w): %s", ErrLibraryMissing, err, remedy)
		}
		path = filepath.Join(cache, "libchdb", version, "libchdb.so")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: no libchdb %s at %s: %s", ErrLibraryMissing, version, path, remedy)
	case err != nil:
		return "", fmt.Errorf("%w: %w: %s", ErrLibraryMissing, err, remedy)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s is not a file: %s", ErrLibraryMissing, path, remedy)
	}
	return path, nil
}

// cacheDir returns Mintlake's cache folder. tools/deps/libchdb.sh uses the same one.
func cacheDir() (string, error) {
	if dir := os.Getenv("MINTLAKE_CACHE_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir() // $XDG_CACHE_HOME, else $HOME/.cache
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "mintlake"), nil
}
