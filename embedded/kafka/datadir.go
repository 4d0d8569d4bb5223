package kafka

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mintlake/mintlake/internal/durable"
)

const (
	markerName = "MINTLAKE_KAFKA"
	lockName   = "LOCK"
	brokerName = "broker"

	// markerText is the content of the marker file; the number grows when the layout of the folder
	// changes.
	markerText = "mintlake embedded kafka, format 1\n"

	// markAgain is the advice for a folder of ours without its marker.
	markAgain = "write into it the line: mintlake embedded kafka, format 1"
)

// dataDir is a data folder that this process owns until close.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir creates the folder if it is missing, checks that it is ours and locks it. It uses a
// lock of the kernel (flock), which ends with the process even if that is killed. A file whose
// existence is the lock would stay.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("embedded kafka: make data folder: %w", err)
	}
	if err := checkOwner(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	d := &dataDir{path: path, lock: lock}
	if err := writeMarker(path); err != nil {
		d.close()
		return nil, err
	}
	if err := os.MkdirAll(d.broker(), 0o750); err != nil {
		d.close()
		return nil, fmt.Errorf("embedded kafka: make data folder: %w", err)
	}
	return d, nil
}

// broker returns the folder of kfake's files.
func (d *dataDir) broker() string { return filepath.Join(d.path, brokerName) }

// close releases the lock. The lock file stays: if it were removed, two processes could lock two
// different files.
func (d *dataDir) close() { _ = d.lock.Close() }

// checkOwner refuses a folder that has files but not our marker. The lock file and a half-written
// marker are allowed, because a start that is killed before it has written the marker leaves them.
// Earlier versions named the half-written marker LOCK.*.
func checkOwner(path string) error {
	marker, err := os.ReadFile(filepath.Join(path, markerName))
	if err == nil {
		if string(marker) == markerText {
			return nil
		}
		return &StartError{Reason: ErrFormat, Where: path, Do: fmt.Sprintf("%s says %.60q: start the version of mintlake that wrote it, choose another data folder, or, if that file is damaged, %s",
			markerName, strings.TrimSpace(string(marker)), markAgain)}
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("embedded kafka: read marker: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("embedded kafka: read data folder: %w", err)
	}
	if _, err := os.Stat(filepath.Join(path, brokerName)); err == nil {
		return &StartError{Reason: ErrForeign, Where: path, Do: fmt.Sprintf("it holds %q, and the marker %s is missing: choose an empty or new folder for Kafka's data, or, if this is mintlake's, %s",
			brokerName, markerName, markAgain)}
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, lockName) && name != markerName+durable.Suffix {
			return &StartError{Reason: ErrForeign, Where: path, Do: fmt.Sprintf("it holds %q; choose an empty or new folder for Kafka's data", entry.Name())}
		}
	}
	return nil
}

// lockFile takes the exclusive lock and writes our process ID into the lock file.
func lockFile(path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
	// Only damage puts something else than a file here, so no process has locked it.
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := durable.PutAside(name); err != nil {
			return nil, fmt.Errorf("embedded kafka: put %s aside, which is no file: %w", name, err)
		}
	}
	lock, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded kafka: open lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err := lockError(path, lock, err)
		_ = lock.Close()
		return nil, err
	}
	if err := lock.Truncate(0); err == nil {
		// The process ID is only for the message of lockError; the lock does not depend on it.
		_, _ = lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return lock, nil
}

// lockError returns the error of a failed flock. If another process has the lock, it is a
// *StartError that names that process.
func lockError(path string, lock *os.File, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("embedded kafka: lock data folder: %w", err)
	}
	holder := make([]byte, 32)
	n, _ := lock.ReadAt(holder, 0)
	return &StartError{Reason: ErrLocked, Where: path, Cause: err,
		Do: fmt.Sprintf("stop the other mintlake (process %s), or choose another data folder", strings.TrimSpace(string(holder[:n])))}
}

// writeMarker writes the marker, unless there is one. A crash leaves either the whole marker or
// none.
func writeMarker(path string) error {
	name := filepath.Join(path, markerName)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := durable.Replace(name, []byte(markerText)); err != nil {
		return fmt.Errorf("embedded kafka: write marker: %w", err)
	}
	return nil
}
