// Package blobs is a bounded store of files on disk under hash keys. It keeps the most recently
// used files in memory too.
//
// In: bytes with a type, under a key. Out: the same bytes, or nothing. Guarantees: Get never
// returns other bytes than those that Put got, whatever happened to the disk or the process in
// between: each file carries a hash of its bytes, and a file that does not match is dropped. The
// store never holds more than its bounds; the least recently used files go first. Nothing is synced
// to disk, as a lost file can be fetched or made again.
package blobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Key names a blob: the SHA-256 of its bytes, or of what it was made from and how.
type Key [sha256.Size]byte

// String is the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of bytes that are named by their own hash.
func KeyOf(body []byte) Key { return sha256.Sum256(body) }

// Derived returns the key of a blob that is made from the blob of k, such as a smaller picture. how
// says what is made, and with which settings. The leading byte 1 keeps these hashes apart from
// those of KeyOf (domain separation).
func (k Key) Derived(how string) Key {
	return sha256.Sum256(append(append([]byte{1}, k[:]...), how...))
}

// Blob is what is stored. It is shared, so nobody may change it.
type Blob struct {
	// Type is a media type of at most 255 bytes.
	Type string
	Body []byte
	// ETag is the entity tag of Body, quoted.
	ETag string
}

// Config of a Store. Zero values take the default.
type Config struct {
	// Dir is the folder. It is created if it is missing. Required.
	Dir string
	// DiskBytes bounds the files. Default 2 GiB.
	DiskBytes int64
	// MemoryBytes bounds the blobs in memory. Default 64 MiB.
	MemoryBytes int64
	// names bounds the names that point to blobs (see Name). Default 1,000,000, about 120 bytes of
	// memory each.
	names int
}

func (c Config) withDefaults() Config {
	c.DiskBytes = cmp.Or(c.DiskBytes, 2<<30)
	c.MemoryBytes = cmp.Or(c.MemoryBytes, 64<<20)
	c.names = cmp.Or(c.names, 1_000_000)
	return c
}

// Deps are the collaborators; all may be nil.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Store keeps blobs in memory and on disk. Any number of goroutines may use it, but only one
// process may have the folder open.
type Store struct {
	cfg     Config
	logger  *slog.Logger
	memory  *memory
	disk    *disk
	names   *names
	metrics *metrics
	dropped atomic.Uint64 // damaged files that were removed
	opened  sync.Once
	openErr error
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Store, error) {
	cfg = cfg.withDefaults()
	if cfg.Dir == "" {
		return nil, errors.New("blobs: a folder is required")
	}
	if cfg.DiskBytes < 1<<20 || cfg.MemoryBytes < 0 || cfg.names < 1 {
		return nil, errors.New("blobs: disk_bytes must be at least 1 MiB, memory_bytes not negative, names at least 1")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	s := &Store{cfg: cfg, logger: deps.Logger, memory: newMemory(cfg.MemoryBytes), disk: newDisk(cfg.Dir, cfg.DiskBytes)}
	s.names = newNames(filepath.Join(cfg.Dir, "names.log"), cfg.names)
	var err error
	s.metrics, err = newMetrics(deps.Registerer, s)
	return s, err
}

// Open creates the folder if it is missing and reads what is in it. Until then the store is empty.
// Run calls it too: only the first call does anything.
func (s *Store) Open() error {
	s.opened.Do(func() { s.openErr = s.open() })
	return s.openErr
}

// open creates the folder, lists its files, and reads names.log, which tells under which name which
// blob is. A damaged names.log is no error: an image whose name is lost is fetched again.
func (s *Store) open() error {
	if err := os.MkdirAll(s.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	if err := s.disk.scan(); err != nil {
		return fmt.Errorf("blobs: scan: %w", err)
	}
	skipped, damage, err := s.names.load()
	if err != nil {
		return fmt.Errorf("blobs: names: %w", err)
	}
	if damage != nil || skipped > 0 {
		s.metrics.errors.Inc()
		s.logger.Warn("the names of images are damaged and made anew: images without a name are fetched again when they are asked for", "file", s.names.path, "records", skipped, "err", damage)
	}
	return nil
}

// Run opens the store, and writes new names to the log every second until ctx ends; then it returns
// nil.
func (s *Store) Run(ctx context.Context) error {
	if err := s.Open(); err != nil {
		return err
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := s.names.close(); err != nil {
				s.logger.Warn("names of blobs were not written", "err", err)
			}
			return nil
		case <-ticker.C:
			if err := s.names.flush(); err != nil {
				s.metrics.errors.Inc()
			}
		}
	}
}

// diskUses is how many reads of a blob from memory count as one use of its file: the LRU order of
// the files need not be more exact.
const diskUses = 16

// Get returns the blob of a key, from memory or from disk; false if there is none that can be read.
func (s *Store) Get(key Key) (*Blob, bool) {
	if blob, uses := s.memory.get(key); blob != nil {
		s.metrics.memory.Inc()
		if uses%diskUses == 1 {
			// Without this the disk would not see these reads, and would remove the file as unused.
			s.disk.use(key)
		}
		return blob, true
	}
	blob, err := s.disk.read(key)
	switch {
	case err == nil:
		s.metrics.disk.Inc()
		s.memory.put(key, blob)
		return blob, true
	case !errors.Is(err, os.ErrNotExist):
		s.tellDropped(key, err)
	}
	s.metrics.none.Inc()
	return nil, false
}

// tellDropped counts a damaged file that was removed. It logs the first ten files, then only the
// 16th, 32nd, 64th and so on.
func (s *Store) tellDropped(key Key, err error) {
	s.metrics.errors.Inc()
	s.metrics.dropped.Inc()
	if dropped := s.dropped.Add(1); dropped <= 10 || bits.OnesCount64(dropped) == 1 {
		s.logger.Warn("a file of the image store is damaged and was removed: the image is fetched again when it is asked for", "file", s.disk.path(key), "dropped", dropped, "err", err)
	}
}

// Has reports whether the store holds the key, without reading it.
func (s *Store) Has(key Key) bool { return s.memory.has(key) || s.disk.has(key) }

// Put stores a blob and returns it. If the file cannot be written, because the disk is full for
// example, Put logs that, and the blob is in memory only, or nowhere if it is too large for memory.
func (s *Store) Put(key Key, mediaType string, body []byte) *Blob {
	blob := newBlob(mediaType, body)
	s.memory.put(key, blob)
	if err := s.disk.write(key, blob); err != nil {
		s.metrics.errors.Inc()
		s.logger.Warn("blob not stored on disk", "err", err)
	}
	return blob
}

// Delete removes a blob from memory and from disk.
func (s *Store) Delete(key Key) {
	s.memory.delete(key)
	s.disk.delete(key)
}

func newBlob(mediaType string, body []byte) *Blob {
	sum := sha256.Sum256(body)
	return &Blob{Type: mediaType, Body: body, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}
