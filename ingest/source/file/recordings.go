package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/durable"
)

// RecordingsConfig configures Recordings. Zero values take the defaults named at each field.
type RecordingsConfig struct {
	// Dir is the folder, which is created if it does not exist. Required.
	Dir string
	// file is the name of the only file in Dir, which must not exist yet. If it is empty, files are
	// named by the time at which they begin.
	file string
	// MaxBytes and MaxAge bound a file: when it has reached one of them, the next file begins.
	// Defaults 1 GiB on disk and one hour.
	MaxBytes int64
	MaxAge   time.Duration
	// syncEvery is the time between syncs: a crash loses at most the messages of this time. Default
	// 1 s.
	syncEvery time.Duration
}

// Recordings writes Geyser messages into a folder of *.geyser.zst files, one after the other. A
// file is named by the time at which it begins, so the order of names is that of the messages. Each
// run begins a new file and never changes an older one. After a crash of the process or the
// machine, everything up to the last sync is there and readable.
type Recordings struct {
	cfg RecordingsConfig

	mu    sync.Mutex
	file  *os.File
	out   *Recorder
	begun time.Time
	files int
	// written counts the compressed bytes that the encoder has passed to the present file. done
	// counts those of the files before.
	written  atomic.Int64
	done     int64
	messages uint64
	err      error
	failed   chan struct{}
}

// NewRecordings checks the configuration; it does no I/O. Messages are synced only while Run runs.
func NewRecordings(cfg RecordingsConfig) (*Recordings, error) {
	if cfg.Dir == "" || cfg.MaxBytes < 0 || cfg.MaxAge < 0 || cfg.syncEvery < 0 {
		return nil, errors.New("new recordings: a folder is required, and no negative bound")
	}
	if cfg.file != "" { // no second file may begin
		cfg.MaxBytes, cfg.MaxAge = math.MaxInt64, math.MaxInt64
	}
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 1<<30)
	cfg.MaxAge = cmp.Or(cfg.MaxAge, time.Hour)
	cfg.syncEvery = cmp.Or(cfg.syncEvery, time.Second)
	return &Recordings{cfg: cfg, failed: make(chan struct{})}, nil
}

// RecordingsAt returns the configuration for path: one file if its name ends with .geyser.zst, else
// a folder of files.
func RecordingsAt(path string) RecordingsConfig {
	if strings.HasSuffix(path, recordingSuffix) {
		return RecordingsConfig{Dir: filepath.Dir(path), file: filepath.Base(path)}
	}
	return RecordingsConfig{Dir: path}
}

// recordingSuffix is the end of a recording's name.
const recordingSuffix = ".geyser.zst"

// Tap takes a message as it came; it serves as geyser.Deps.Tap. A message without a creation time
// gets the present time, so that the recording can be replayed at its speed. The first failure ends
// Run; later messages are dropped.
func (r *Recordings) Tap(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	now := time.Now()
	if err := r.write(parse.Stamp(message, now), now); err != nil {
		r.fail(err)
	}
}

func (r *Recordings) fail(err error) {
	r.err = err
	close(r.failed)
}

// write appends a message. It begins the next file first if there is none, or if the present one is
// large or old enough.
func (r *Recordings) write(message []byte, now time.Time) error {
	if r.file != nil && (r.written.Load() >= r.cfg.MaxBytes || now.Sub(r.begun) >= r.cfg.MaxAge) {
		if err := r.end(); err != nil {
			return err
		}
	}
	if r.file == nil {
		if err := r.begin(now); err != nil {
			return err
		}
	}
	if err := r.out.Write(message); err != nil {
		return err
	}
	r.messages++
	return nil
}

// begin opens a new file.
func (r *Recordings) begin(now time.Time) error {
	if err := os.MkdirAll(r.cfg.Dir, 0o755); err != nil { //nolint:gosec // recordings are public chain data
		return fmt.Errorf("record: %w", err)
	}
	name := r.cfg.file
	if name == "" {
		name = fmt.Sprintf("%s-%04d"+recordingSuffix, now.UTC().Format("20060102T150405.000Z"), r.files)
	}
	f, err := os.OpenFile(filepath.Join(r.cfg.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.file, r.begun = f, now
	r.written.Store(0)
	if r.out, err = NewRecorder(counter{r}); err != nil {
		return err
	}
	r.files++
	if err := durable.SyncDir(r.cfg.Dir); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// counter counts the bytes that reach the file. The encoder calls it from a goroutine of its own.
type counter struct{ *Recordings }

func (c counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// end closes the present file.
func (r *Recordings) end() error {
	err := errors.Join(r.out.Close(), r.file.Sync(), r.file.Close())
	r.file, r.done = nil, r.done+r.written.Swap(0)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Run syncs what was written every syncEvery until ctx ends or a write fails, then closes the file.
// It returns the first failure.
func (r *Recordings) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return r.close()
		case <-r.failed:
			return r.close()
		case <-tick.C:
			r.sync()
		}
	}
}

// sync makes everything written so far readable after a crash.
func (r *Recordings) sync() {
	r.mu.Lock()
	if r.file == nil || r.err != nil {
		r.mu.Unlock()
		return
	}
	f, err := r.file, r.out.Flush()
	if err != nil {
		r.fail(err)
	}
	r.mu.Unlock()
	// Sync runs without the lock, so that the stream does not wait for the disk. If end has closed
	// the file meanwhile, it has synced the file too.
	if err == nil {
		if err = f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.err == nil {
				r.fail(fmt.Errorf("record: %w", err))
			}
		}
	}
}

// close ends the present file and returns the first failure. Later messages are dropped.
func (r *Recordings) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.file != nil {
		err = r.end()
	}
	if r.err == nil && err != nil {
		r.fail(err)
	}
	if r.err != nil {
		return r.err
	}
	r.err = errClosed
	return nil
}

var errClosed = errors.New("recordings are closed")

// Recorded returns how many messages were taken, and into how many files and bytes on disk.
func (r *Recordings) Recorded() (messages uint64, files int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages, r.files, r.done + r.written.Load()
}
