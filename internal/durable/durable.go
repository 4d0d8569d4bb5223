// Package durable writes small files so that neither a kill nor a power cut leaves a file half
// written.
//
// In: a name and the whole content. Out: the file. Guarantees: whoever reads the name finds the old
// content or the new one, whole; when Replace returns nil the new one is on disk, name included. A
// kill may leave NAME.new behind; the next write to NAME replaces it.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Suffix ends the name of a file while it is being written.
const Suffix = ".new"

// Replace writes a file that only its owner may read. The caller must not replace one name twice at
// the same time.
func Replace(name string, content []byte) error {
	return ReplaceWith(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// ReplaceWith is Replace for large files: write writes the content. If write fails, the old content
// stays.
func ReplaceWith(name string, write func(w io.Writer) error) error {
	next := name + Suffix
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := Rename(next, name); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// Rename renames the file next to name, and replaces a file of that name. A folder of that name is
// taken for damage and put aside.
func Rename(next, name string) error {
	err := os.Rename(next, name)
	if info, statErr := os.Lstat(name); err != nil && statErr == nil && info.IsDir() {
		if err := PutAside(name); err != nil {
			return err
		}
		return os.Rename(next, name)
	}
	return err
}

// ReplaceUnsynced is Replace without syncs, for files that are written often. After a kill the file
// has the old content or the new one. After a power cut it may also have an older one.
func ReplaceUnsynced(name string, content []byte) error {
	if err := os.WriteFile(name+Suffix, content, 0o600); err != nil {
		return err
	}
	return Rename(name+Suffix, name)
}

// Aside ends the name of a file that was put aside.
const Aside = ".damaged"

// PutAside renames a damaged file, or whatever else has its name, so that a new one can be written.
// What was put aside before under the same name is removed.
func PutAside(name string) error {
	if err := os.RemoveAll(name + Aside); err != nil {
		return err
	}
	return os.Rename(name, name+Aside)
}

// SyncDir syncs a folder, which makes the names in it durable.
func SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
