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
)

// owner in the marker file.
const owner = "mintlake embedded clickhouse"

// markAgain is what to do about a directory of ours whose marker is gone or damaged.
const markAgain = `write into it: {"owner":"` + owner + `","layout":1}`

// lockPatience is how long an end of the previous process is waited for: after a kill of the parent
// the child dies within milliseconds, but the kernel takes a moment to free its memory.
const lockPatience = 3 * time.Second

// marker is the content of markerFile.
type marker struct {
	Owner string `json:"owner"`
	// Layout is the version of the directory's layout.
	Layout int `json:"layout"`
	// Engine is the newest ClickHouse version that ever opened the directory, empty before the
	// first start.
	Engine string `json:"engine"`
}

// dataDir is a data directory that this process has locked.
type dataDir struct {
	path   string
	lock   *os.File // the child inherits it: the lock lasts until both are gone
	marker marker
}

// openDataDir creates the directory when absent, makes sure that it is ours, and locks it.
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
	// Only now, under the lock: two processes may have found the directory empty.
	if err := errors.Join(d.writeMarker(), os.MkdirAll(filepath.Join(path, engineDir), 0o750)); err != nil {
		d.close()
		return nil, fmt.Errorf("embedded clickhouse: prepare data directory: %w", err)
	}
	return d, nil
}

func (d *dataDir) readMarker() error {
	name := filepath.Join(d.path, markerFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return d.refuseForeign()
	}
	if err != nil {
		return fmt.Errorf("embedded clickhouse: read %s: %w: check its permissions", name, err)
	}
	if err := json.Unmarshal(text, &d.marker); err != nil || d.marker.Owner != owner {
		return fmt.Errorf("embedded clickhouse: %w: %s is damaged, or no marker of ours: choose another --data-dir, or %s", ErrForeignDirectory, name, markAgain)
	}
	if d.marker.Layout > 1 {
		return fmt.Errorf("embedded clickhouse: %w: %s says layout %d, this program knows 1: run the newer mintlake, or, if that file is damaged, %s", ErrNewerData, name, d.marker.Layout, markAgain)
	}
	return nil
}

// refuseForeign lets an empty directory pass; a file system of its own has lost+found, and a first
// start that was killed has the lock.
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

// acquire takes the lock, waiting a moment for a predecessor that is just ending.
func (d *dataDir) acquire(ctx context.Context) error {
	name := filepath.Join(d.path, lockFile)
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
			if text, _ := os.ReadFile(name); len(text) > 0 { // the number only helps
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
	// The number is for the message above only; the lock itself does not depend on it.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return nil
}

// opened notes that this version of the engine opened the directory.
func (d *dataDir) opened(version string) error {
	if d.marker.Engine == version {
		return nil
	}
	d.marker.Engine = version
	return d.writeMarker()
}

// writeMarker replaces the marker by one rename, so that a kill leaves the old or the new one.
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

// close gives the lock back; the kernel does so too when the process and its child are gone.
func (d *dataDir) close() { _ = d.lock.Close() }
