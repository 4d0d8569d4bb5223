package file

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Recorder writes Geyser messages as a *.geyser.zst recording, which the file source reads: zstd of
// [u32 big endian length][SubscribeUpdate] …. Safe for concurrent use.
type Recorder struct {
	mu  sync.Mutex
	out *zstd.Encoder
}

// NewRecorder starts a recording on w. The caller closes w.
func NewRecorder(w io.Writer) (*Recorder, error) {
	out, err := zstd.NewWriter(w)
	if err != nil {
		return nil, fmt.Errorf("new recorder: %w", err)
	}
	return &Recorder{out: out}, nil
}

// Write appends one message. The writer that NewRecorder was given is sure to have it only after
// Flush or Close.
func (r *Recorder) Write(message []byte) error {
	if len(message) > math.MaxUint32 {
		return fmt.Errorf("record: message of %d bytes", len(message))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(message)))
	if _, err := r.out.Write(head[:]); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if _, err := r.out.Write(message); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Flush passes on everything written so far, so that a kill loses only what comes after. Frequent
// flushes make the compression worse. One flush a second is fine.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Flush(); err != nil {
		return fmt.Errorf("flush recording: %w", err)
	}
	return nil
}

// Close ends the recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Close(); err != nil {
		return fmt.Errorf("close recording: %w", err)
	}
	return nil
}
