package file

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/durable"
)

// RecordingsConfig says where recordings go. Zero values take the defaults named at each field.
type RecordingsConfig struct {
	// Dir is the folder; made when it is not there. Required.
	Dir string
	// file is the name of the one file in Dir, which must not be there yet; empty = files are named
	// by the time of their beginning.
	file string
	// MaxBytes and MaxAge end a file and begin the next. Defaults 1 GiB on disk and one hour.
	MaxBytes int64
	MaxAge   time.Duration
	// SyncEvery is how much of the newest messages a crash may lose. Default 1 s.
	SyncEvery time.Duration
}

// Recordings writes Geyser messages into a folder of *.geyser.zst files, one after the other, named
// by the time of their beginning, so that their order by name is that of the messages. Each run
// begins a new file and never touches an older one. After a crash, of the process or the machine,
// everything up to the last sync is there and readable.
type Recordings struct {
	cfg RecordingsConfig

	mu    sync.Mutex
	file  *os.File
	out   *Recorder
	begun time.Time
	files int
	// written counts compressed bytes of the present file as far as the encoder has let go of them,
	// done those of the files before.
	written, done int64
	messages      uint64
	err           error
	failed        chan struct{}
}

// NewRecordings checks the configuration; it does no I/O. Run must run for messages to be kept.
func NewRecordings(cfg RecordingsConfig) (*Recordings, error) {
	if cfg.Dir == "" || cfg.MaxBytes < 0 || cfg.MaxAge < 0 || cfg.SyncEvery < 0 {
		return nil, errors.New("new recordings: a folder is required, and no negative bound")
	}
	if cfg.file != "" { // never another
		cfg.MaxBytes, cfg.MaxAge = math.MaxInt64, math.MaxInt64
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = time.Hour
	}
	if cfg.SyncEvery == 0 {
		cfg.SyncEvery = time.Second
	}
	return &Recordings{cfg: cfg, failed: make(chan struct{})}, nil
}

// RecordingsAt is where path says: one file where it is named *.geyser.zst, else a folder of files.
func RecordingsAt(path string) RecordingsConfig {
	if strings.HasSuffix(path, recordingSuffix) {
		return RecordingsConfig{Dir: filepath.Dir(path), file: filepath.Base(path)}
	}
	return RecordingsConfig{Dir: path}
}

// recordingSuffix ends the names of recordings.
const recordingSuffix = ".geyser.zst"

// Tap takes a message as it came; it is what geyser.Deps.Tap wants. A message without the time of
// its making gets the present one, so that the recording can be replayed in time. The first failure
// ends Run; later messages are dropped.
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

func (r *Recordings) write(message []byte, now time.Time) error {
	if r.file != nil && (r.written >= r.cfg.MaxBytes || now.Sub(r.begun) >= r.cfg.MaxAge) {
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

// begin opens a file that was not there before.
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
	r.file, r.begun, r.written = f, now, 0
	if r.out, err = NewRecorder(counter{r}); err != nil {
		return err
	}
	r.files++
	if err := durable.SyncDir(r.cfg.Dir); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// counter counts what reaches the file.
type counter struct{ *Recordings }

func (c counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.written += int64(n)
	return n, err
}

// end closes the present file.
func (r *Recordings) end() error {
	err := errors.Join(r.out.Close(), r.file.Sync(), r.file.Close())
	r.file, r.done, r.written = nil, r.done+r.written, 0
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Run syncs what was written every SyncEvery until ctx ends, then closes the file. An error is the
// first failure to write.
func (r *Recordings) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.SyncEvery)
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
	// Outside of the lock: the stream must not wait for the disk. A file that was ended meanwhile
	// is synced by that.
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

// Recorded is how many messages were taken, in how many files and bytes on disk.
func (r *Recordings) Recorded() (messages uint64, files int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages, r.files, r.done + r.written
}
