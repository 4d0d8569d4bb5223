package snapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mintlake/mintlake/internal/durable"
)

// workFolder is where an export writes until all files are durable. The name is always the same, so
// that an export removes what a killed one left.
const workFolder = ".export-unfinished"

// place is where a snapshot is made.
type place struct {
	folder string
	work   string
	// lock is the work folder, locked: one export at a time writes there.
	lock *os.File
	// made is true if folder did not exist: a failed export removes it again.
	made bool
	// published are the names that were moved to folder.
	published []string
}

// openPlace makes folder and an empty work folder inside it. It refuses a folder that has a
// snapshot or other Parquet files.
func openPlace(folder string) (*place, error) {
	p := &place{folder: folder, work: filepath.Join(folder, workFolder)}
	_, err := os.Stat(folder)
	p.made = errors.Is(err, os.ErrNotExist)
	if _, err := os.Stat(filepath.Join(folder, ManifestName)); err == nil {
		return nil, errors.New("the folder holds a snapshot: name another one")
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*.parquet")); err != nil || len(left) > 0 {
		return nil, errors.Join(err, fmt.Errorf("the folder holds %s, which no manifest describes: name another folder, or remove it", strings.Join(left, ", ")))
	}
	if err := os.MkdirAll(p.work, 0o755); err != nil { //nolint:gosec // made to be given away
		return nil, err
	}
	if p.made {
		if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // as above, whatever the umask is
			return nil, err
		}
	}
	if p.lock, err = os.Open(p.work); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = p.lock.Close()
		return nil, fmt.Errorf("another export is writing to this folder: lock %s: %w", p.work, err)
	}
	if err := p.clear(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// clear removes what a killed export left in the work folder.
func (p *place) clear() error {
	left, err := os.ReadDir(p.work)
	if err != nil {
		return err
	}
	for _, entry := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(p.work, entry.Name())))
	}
	return err
}

// publish moves the named files to the snapshot's folder, in this order, and removes the work
// folder.
func (p *place) publish(names []string) error {
	for _, name := range names {
		if err := os.Rename(filepath.Join(p.work, name), filepath.Join(p.folder, name)); err != nil {
			return err
		}
		p.published = append(p.published, name)
	}
	return errors.Join(os.Remove(p.work), p.lock.Close(), durable.SyncDir(p.folder))
}

// remove removes what a failed export made.
func (p *place) remove() error {
	err := errors.Join(os.RemoveAll(p.work), p.lock.Close())
	for _, name := range p.published {
		err = errors.Join(err, os.Remove(filepath.Join(p.folder, name)))
	}
	if p.made {
		err = errors.Join(err, os.Remove(p.folder))
	}
	if err != nil {
		return fmt.Errorf("remove the unfinished snapshot, which is of no use: %w", err)
	}
	return nil
}

// writeFile writes a file and makes it durable.
func writeFile(path string, raw []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // made to be given away
	if err != nil {
		return err
	}
	_, err = out.Write(raw)
	return errors.Join(err, out.Chmod(0o644), out.Sync(), out.Close())
}
