// Package datadir makes sure that a data folder belongs to Mintlake before anything is written into
// it.
//
// In: a path. Out: the folder, created if it is missing, with a marker file. Guarantees: nothing is
// written into a folder that is neither empty, nor marked, nor written by an earlier version.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	markerName = "MINTLAKE_DATA"
	markerText = "mintlake data folder, format 1\n"
)

// engineMarkers are files that every version of the embedded engines has written. A folder with one
// of them is Mintlake's.
var engineMarkers = []string{filepath.Join("kafka", "MINTLAKE_KAFKA"), filepath.Join("clickhouse", "mintlake-clickhouse.json")}

// earlier are the names that versions without the marker wrote. A folder with nothing else is
// accepted: the engines check their own folders.
var earlier = []string{"kafka", "clickhouse", "logos", "recordings", "demo.json", "documents.json", "import.json", "bootstrap-rpc.json"}

// Claim creates the folder if it is missing, checks that it is empty or Mintlake's, and writes the
// marker. It may be called again at any time.
func Claim(path string) error {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return fmt.Errorf("make data folder: %w: choose a folder you may write to with --data-dir", err)
	}
	ours, err := marked(path)
	if err != nil || ours {
		return err
	}
	if err := checkContent(path); err != nil {
		return err
	}
	return mark(path)
}

// marked reports whether the folder has the marker. A marker with another text is an error.
func marked(path string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(path, markerName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("data folder %s: read marker: %w", path, err)
	case string(text) != markerText:
		return false, fmt.Errorf("data folder %s is of another version of mintlake, or its marker %s is damaged: it says %.60q; start that version, choose another folder "+
			"with --data-dir, or, if the disk did it, delete the marker: it is made anew", path, markerName, text)
	}
	return true, nil
}

// checkContent refuses a folder that holds somebody else's files. lost+found, which the root of a
// file system has, is allowed.
func checkContent(path string) error {
	for _, name := range engineMarkers {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return nil
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".new") // of a file that was being replaced
		if name != "lost+found" && !strings.HasPrefix(name, markerName) && !slices.Contains(earlier, name) {
			return fmt.Errorf("data folder %s is not empty and not mintlake's: it holds %q; choose an empty or new folder with --data-dir", path, entry.Name())
		}
	}
	return nil
}

// mark writes the marker by a rename, so that a crash leaves either the whole marker or none.
func mark(path string) error {
	tmp, err := os.CreateTemp(path, markerName+".*")
	if err != nil {
		return fmt.Errorf("mark data folder: %w: choose a folder you may write to with --data-dir", err)
	}
	_, err = tmp.WriteString(markerText)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(path, markerName))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
}
