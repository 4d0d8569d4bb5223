// Package durable writes small files so that neither a kill nor a power cut leaves half of one.
//
// In: a name and the whole content. Out: the file. Guarantees: whoever reads the name finds the old
// content or the new one, whole; when Replace returns nil the new one is on disk, name included. A
// kill may leave NAME.new behind, which the next one of that name takes over.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Suffix is that of a file that is being written.
const Suffix = ".new"

// Replace writes a file that only its owner may read. Two at one time of one name are the caller's
// to avoid.
func Replace(name string, content []byte) error {
	next := name + Suffix
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, name); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// ReplaceUnsynced is Replace for what is written often and may be older after a power cut: a kill
// leaves the old content or the new, but neither is waited for until it is on disk.
func ReplaceUnsynced(name string, content []byte) error {
	if err := os.WriteFile(name+Suffix, content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+Suffix, name)
}

// SyncDir makes the names in a folder durable.
func SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
