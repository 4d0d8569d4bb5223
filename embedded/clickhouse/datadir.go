package chengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/internal/durable"
)

// Layout of the data directory.
const (
	markerFile = "mintlake-clickhouse.json" // says whose this is; written before anything else
	lockFile   = "lock"
	configFile = "config.xml" // written at each start
	engineDir  = "engine"     // libchdb's --path

	// PartsFile is the manifest of package internal/clickhouse/parts, which is kept in this
	// directory.
	PartsFile = "parts.json"
)

// owner is the owner in the marker file.
const owner = "mintlake embedded clickhouse"

// markAgain is the advice for a directory of ours whose marker is missing or damaged.
const markAgain = `write into it: {"owner":"` + owner + `","layout":1}`

// lockPatience is how long to wait for the lock of an earlier process. When the parent is killed,
// its child dies within milliseconds, but the kernel takes a moment to free the child's memory.
const lockPatience = 3 * time.Second

// marker is the content of markerFile.
type marker struct {
	Owner string `json:"owner"`
	// Layout is the version of the directory's layout.
	Layout int `json:"layout"`
	// Engine is the newest ClickHouse version that has opened the directory; empty before the first
	// start.
	Engine string `json:"engine"`
}

// dataDir is a data directory that this process has locked.
type dataDir struct {
	path   string
	lock   *os.File // the child inherits it: the lock is held until both have ended
	marker marker
	// unmarked is the error of reading the marker, if a new marker is made for a directory of ours;
	// else nil.
	unmarked error
}

// openDataDir creates the directory if it is missing, checks that it is ours, and locks it.
func openDataDir(ctx context.Context, path string) (*dataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("embedded clickhouse: data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("embedded clickhouse: create data directory %s: %w: choose a folder you may write to with --data-dir", path, err)
	}
	d := &dataDir{path: path}
	if err := d.readMarker(); err != nil {
		return nil, err
	}
	if err := d.acquire(ctx); err != nil {
		return nil, err
	}
	// The marker is written only with the lock: two processes may have found the directory empty.
	if err := errors.Join(d.writeMarker(), os.MkdirAll(filepath.Join(path, engineDir), 0o750)); err != nil {
		d.close()
		return nil, fmt.Errorf("embedded clickhouse: prepare data directory: %w", err)
	}
	return d, nil
}

// readMarker reads and checks the marker. A directory that looks like ours gets a new marker in
// memory if it has none that can be read. Any other directory without a marker must be empty.
func (d *dataDir) readMarker() error {
	name := filepath.Join(d.path, markerFile)
	text, err := os.ReadFile(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil {
		if err = json.Unmarshal(text, &d.marker); err == nil && d.marker.Owner != owner {
			err = fmt.Errorf("it says owner %.60q", d.marker.Owner)
		}
	}
	switch {
	case err != nil && d.looksOurs():
		d.marker, d.unmarked = marker{Owner: owner, Layout: 1}, err
		if missing {
			return nil
		}
		if err := durable.PutAside(name); err != nil {
			return fmt.Errorf("embedded clickhouse: put the damaged %s aside: %w: check its permissions", name, err)
		}
		return nil
	case missing:
		return d.refuseForeign()
	case err != nil:
		return fmt.Errorf("embedded clickhouse: %w: %s is damaged, or no marker of ours (%w): choose another --data-dir, or %s", ErrForeignDirectory, name, err, markAgain)
	}
	if d.marker.Layout > 1 {
		return fmt.Errorf("embedded clickhouse: %w: %s says layout %d, this program knows 1: run the newer mintlake, or, if that file is damaged, %s", ErrNewerData, name, d.marker.Layout, markAgain)
	}
	return nil
}

// looksOurs reports whether a directory without a readable marker was written by us: it has nothing
// that we do not write, and has the engine's folder and a file of ours beside it.
func (d *dataDir) looksOurs() bool {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return false
	}
	engine, beside := false, false
	for _, entry := range entries {
		switch name := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), durable.Suffix), durable.Aside); name {
		case engineDir:
			engine = entry.IsDir()
		case lockFile, configFile, definitionsFile, PartsFile:
			beside = true
		case markerFile, asideDir, "lost+found":
		default:
			return false
		}
	}
	return engine && beside
}

// refuseForeign accepts an empty directory, and refuses one with files. lost+found, which the root
// of a file system has, and what a killed first start leaves do not count.
func (d *dataDir) refuseForeign() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("embedded clickhouse: read data directory %s: %w: check its permissions", d.path, err)
	}
	if _, err := os.Stat(filepath.Join(d.path, engineDir)); err == nil {
		return fmt.Errorf("embedded clickhouse: %w: %s holds %q, and the marker %s is missing: choose an empty folder with --data-dir, or, if this is mintlake's, %s",
			ErrForeignDirectory, d.path, engineDir, markerFile, markAgain)
	}
	for _, entry := range entries {
		if name := entry.Name(); name != "lost+found" && name != lockFile && !strings.HasPrefix(name, markerFile) {
			return fmt.Errorf("embedded clickhouse: %w: %s holds %q and no %s: choose an empty folder with --data-dir", ErrForeignDirectory, d.path, name, markerFile)
		}
	}
	d.marker = marker{Owner: owner, Layout: 1}
	return nil
}

// acquire takes the lock. It waits lockPatience for an earlier process that is just ending.
func (d *dataDir) acquire(ctx context.Context) error {
	name := filepath.Join(d.path, lockFile)
	// Only damage puts something else than a file here, so no process has locked it.
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := durable.PutAside(name); err != nil {
			return fmt.Errorf("embedded clickhouse: put %s aside, which is no file: %w", name, err)
		}
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("embedded clickhouse: open %s: %w: choose a folder you may write to with --data-dir", name, err)
	}
	deadline := time.Now().Add(lockPatience)
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return errors.Join(fmt.Errorf("embedded clickhouse: lock %s: %w: the file system must support flock", name, err), file.Close())
		}
		if time.Now().After(deadline) {
			holder := ""
			if text, _ := os.ReadFile(name); len(text) > 0 { // only for the message
				holder = " by process " + strings.TrimSpace(string(text))
			}
			return errors.Join(fmt.Errorf("embedded clickhouse: %w: %s is locked%s: end that process, or choose another --data-dir", ErrLocked, d.path, holder), file.Close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("embedded clickhouse: lock %s: %w", name, ctx.Err()), file.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
	d.lock = file
	// The process ID is only for the message above; the lock does not depend on it.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return nil
}

// opened notes in the marker that this version of the engine has opened the directory.
func (d *dataDir) opened(version string) error {
	if d.marker.Engine == version {
		return nil
	}
	d.marker.Engine = version
	return d.writeMarker()
}

// writeMarker replaces the marker by a rename, so that a kill leaves the old one or the new one.
func (d *dataDir) writeMarker() error {
	text, err := json.MarshalIndent(d.marker, "", "  ")
	if err != nil {
		return fmt.Errorf("encode marker: %w", err)
	}
	name := filepath.Join(d.path, markerFile)
	if err := durable.Replace(name, append(text, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// close releases the lock. If a child has inherited it, the kernel keeps it until the child ends.
func (d *dataDir) close() { _ = d.lock.Close() }
