// Package datadir makes sure that a data folder belongs to Mintlake before anything is written into
// it.
//
// In: a path. Out: the folder, created if it is missing, with a marker file. Guarantees: a folder
// is written into only if it is empty, or has the marker, or an earlier version wrote it. Only
// their owner may read its files.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
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
//
// It sets the process's umask: from then on only their owner may read new files and folders. This
// holds for those of the embedded engines too, which ask for 0644. Files that an earlier version
// left readable are changed once.
func Claim(path string) error {
	unix.Umask(0o077)
	if err := os.MkdirAll(path, 0o750); err != nil {
		return fmt.Errorf("make data folder: %w: choose a folder you may write to with --data-dir", err)
	}
	ours, err := marked(path)
	if err != nil {
		return err
	}
	if ours {
		return closeToOthers(path)
	}
	if err := checkContent(path); err != nil {
		return err
	}
	if err := hideAll(path); err != nil {
		return err
	}
	return mark(path)
}

// closeToOthers takes the rights of other users from all files, if an earlier version wrote them.
// The marker then still has the mode 0644.
func closeToOthers(path string) error {
	marker := filepath.Join(path, markerName)
	if info, err := os.Stat(marker); err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := hideAll(path); err != nil {
		return err
	}
	return hide(marker, 0o644) // the marker comes last: after a kill the next start does all again
}

// hideAll takes the rights of other users from all files of a folder but the marker.
func hideAll(path string) error {
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && entry.Name() == markerName {
			return nil
		}
		if errors.Is(err, fs.ErrPermission) && name != path { // lost+found, for example
			return fs.SkipDir
		}
		if err != nil {
			return fmt.Errorf("data folder: %w: check its permissions", err)
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			return hide(name, info.Mode().Perm())
		}
		return nil
	})
}

// hide takes the rights of other users from a file. A file of another owner stays as it is.
func hide(name string, mode fs.FileMode) error {
	if err := os.Chmod(name, mode&^0o077); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
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
		name := strings.TrimSuffix(entry.Name(), ".new") // a file that was being replaced
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
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(path, markerName))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
}
