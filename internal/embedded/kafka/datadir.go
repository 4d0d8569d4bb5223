package kafka

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	markerName = "MINTLAKE_KAFKA"
	lockName   = "LOCK"
	brokerName = "broker"

	// markerText is the content of the marker file; the number grows when the layout of the folder
	// changes.
	markerText = "mintlake embedded kafka, format 1\n"

	// markAgain is what to do about a folder of ours that lost its marker.
	markAgain = "write into it the line: mintlake embedded kafka, format 1"
)

// dataDir is a data folder that this process owns until close.
type dataDir struct {
	path string
	lock *os.File
}

// openDataDir makes the folder if it is missing, checks that it is ours and takes its lock. The
// lock is the kernel's (flock), so it goes with the process however that ends; a file that merely
// exists would outlive a kill.
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

// broker is where kfake keeps its files.
func (d *dataDir) broker() string { return filepath.Join(d.path, brokerName) }

// close gives the folder back. The lock file stays: removing it would let two processes lock two
// different files.
func (d *dataDir) close() { _ = d.lock.Close() }

// checkOwner refuses a folder with files in it that no broker of ours has marked. A folder with
// nothing but the lock file (or a half-written marker, LOCK.*) is what a start leaves that was
// killed before it wrote the marker.
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
		if !strings.HasPrefix(entry.Name(), lockName) {
			return &StartError{Reason: ErrForeign, Where: path, Do: fmt.Sprintf("it holds %q; choose an empty or new folder for Kafka's data", entry.Name())}
		}
	}
	return nil
}

func lockFile(path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
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
		// The number is for the message above only; the lock itself does not depend on it.
		_, _ = lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return lock, nil
}

// lockError names the process that has the lock.
func lockError(path string, lock *os.File, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("embedded kafka: lock data folder: %w", err)
	}
	holder := make([]byte, 32)
	n, _ := lock.ReadAt(holder, 0)
	return &StartError{Reason: ErrLocked, Where: path, Cause: err,
		Do: fmt.Sprintf("stop the other mintlake (process %s), or choose another data folder", strings.TrimSpace(string(holder[:n])))}
}

// writeMarker leaves either the whole marker or none, also when the machine stops in between.
func writeMarker(path string) error {
	name := filepath.Join(path, markerName)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	tmp, err := os.CreateTemp(path, lockName+".*")
	if err != nil {
		return fmt.Errorf("embedded kafka: write marker: %w", err)
	}
	_, err = tmp.WriteString(markerText)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("embedded kafka: write marker: %w", err)
	}
	return nil
}
