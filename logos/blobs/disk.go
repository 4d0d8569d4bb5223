package blobs

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/durable"
)

// magic begins every file. Behind it are one byte with the length of the type, the type, the
// SHA-256 of the body, and the body.
const magic = "mlblob1\n"

// touchAfter is the age at which a use renews a file's modification time. So the LRU order after a
// restart, which is read from these times, is exact to an hour.
const touchAfter = time.Hour

var errCorrupt = errors.New("the file is not what was written")

// disk has the store's files in LRU order, and bounds their bytes.
type disk struct {
	dir   string
	limit int64 // bytes
	mu    sync.Mutex
	used  int64      // bytes
	order *list.List // of *file, the last used first
	byKey map[Key]*list.Element
}

type file struct {
	key     Key
	size    int64
	touched time.Time // modification time, which use renews
}

func newDisk(dir string, limit int64) *disk {
	return &disk{dir: dir, limit: limit, order: list.New(), byKey: map[Key]*list.Element{}}
}

func (d *disk) path(key Key) string {
	name := key.String()
	return filepath.Join(d.dir, name[:2], name[2:])
}

// scan finds the files, orders them by modification time, and removes the oldest until the others
// are within the limit. It also removes the temporary files of a process that was killed.
func (d *disk) scan() error {
	var found []*file
	var temporary []string
	err := filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if strings.HasPrefix(entry.Name(), "new-") {
			temporary = append(temporary, path)
			return nil
		}
		raw, err := hex.DecodeString(filepath.Base(filepath.Dir(path)) + entry.Name())
		if err != nil || len(raw) != len(Key{}) {
			return nil // not a blob: the log of names, or a file of somebody else
		}
		info, err := entry.Info()
		if err != nil {
			return nil // the file was removed meanwhile
		}
		found = append(found, &file{Key(raw), info.Size(), info.ModTime()})
		return nil
	})
	if err != nil {
		return err
	}
	for _, path := range temporary {
		_ = os.Remove(path) // the next scan tries again
	}
	slices.SortFunc(found, func(a, b *file) int { return b.touched.Compare(a.touched) })
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range found {
		if d.byKey[f.key] == nil {
			d.byKey[f.key] = d.order.PushBack(f)
			d.used += f.size
		}
	}
	d.shrink()
	return nil
}

func (d *disk) has(key Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byKey[key] != nil
}

// read returns the blob of a file. It deletes a file that cannot be read or is damaged.
func (d *disk) read(key Key) (*Blob, error) {
	if !d.use(key) {
		return nil, os.ErrNotExist
	}
	raw, err := os.ReadFile(d.path(key))
	if err == nil {
		var blob *Blob
		if blob, err = parse(raw); err == nil {
			return blob, nil
		}
	}
	d.delete(key)
	return nil, err
}

// use moves the file to the front of the LRU order, and renews its modification time if that is
// older than touchAfter. It returns false if there is no file.
func (d *disk) use(key Key) bool {
	d.mu.Lock()
	element, ok := d.byKey[key]
	if !ok {
		d.mu.Unlock()
		return false
	}
	d.order.MoveToFront(element)
	f := element.Value.(*file)
	now := time.Now()
	stale := now.Sub(f.touched) > touchAfter
	if stale {
		f.touched = now
	}
	d.mu.Unlock()
	if stale {
		_ = os.Chtimes(d.path(key), now, now) // only the order after a restart depends on it
	}
	return true
}

// parse returns the blob in a file. The error is errCorrupt if the file is damaged.
func parse(raw []byte) (*Blob, error) {
	rest, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok || len(rest) < 1 {
		return nil, errCorrupt
	}
	typeEnd := 1 + int(rest[0])
	if len(rest) < typeEnd+sha256.Size {
		return nil, errCorrupt
	}
	mediaType, rest := string(rest[1:typeEnd]), rest[typeEnd:]
	sum, body := rest[:sha256.Size], rest[sha256.Size:]
	if sha256.Sum256(body) != [sha256.Size]byte(sum) {
		return nil, errCorrupt
	}
	return newBlob(mediaType, body), nil
}

// write writes a temporary file and renames it, so that no half-written file stands under a key. It
// does nothing if the key has a file already.
func (d *disk) write(key Key, blob *Blob) error {
	if d.use(key) {
		return nil
	}
	path := d.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	pending, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	sum := sha256.Sum256(blob.Body)
	header := append([]byte(magic), byte(len(blob.Type)))
	header = append(append(header, blob.Type...), sum[:]...)
	_, err = pending.Write(header)
	if err == nil {
		_, err = pending.Write(blob.Body)
	}
	if closeErr := pending.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = durable.Rename(pending.Name(), path)
	}
	if err != nil {
		_ = os.Remove(pending.Name())
		return fmt.Errorf("write: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey[key] == nil {
		d.byKey[key] = d.order.PushFront(&file{key, int64(len(header) + len(blob.Body)), time.Now()})
		d.used += int64(len(header) + len(blob.Body))
	}
	d.shrink()
	return nil
}

// shrink removes the least recently used files until the others are within the limit. The caller
// holds mu, as it does for remove.
func (d *disk) shrink() {
	for d.used > d.limit && d.order.Len() > 0 {
		d.remove(d.order.Back())
	}
}

func (d *disk) delete(key Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if element, ok := d.byKey[key]; ok {
		d.remove(element)
	}
}

func (d *disk) remove(element *list.Element) {
	f := element.Value.(*file)
	d.order.Remove(element)
	delete(d.byKey, f.key)
	d.used -= f.size
	_ = os.Remove(d.path(f.key)) // if this fails, the next scan counts the file again
}

func (d *disk) stats() (files int, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.order.Len(), d.used
}
