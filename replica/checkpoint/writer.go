package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"time"

	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/pause"
)

const (
	// syncEvery is after how many bytes the file is synced, so that the memory for what is not on
	// disk yet stays small.
	syncEvery = 64 << 20
	// bytesPerSecond bounds how fast a checkpoint is written: the log and ClickHouse have the same
	// disk.
	bytesPerSecond = 200 << 20
)

// Writer writes a checkpoint, for one goroutine. After an error it writes nothing more, and Write
// of package checkpoint returns the error.
type Writer struct {
	ctx      context.Context // of one call of Write, which outlives the Writer
	out      io.Writer
	offset   int64
	begun    time.Time
	synced   int64
	block    []byte // of the section that is open
	sections []section
	err      error
}

// Write writes a checkpoint to a file, durably: see durable.ReplaceWith. sections writes the
// sections and returns a value about them, which is kept as JSON for File.About. Write returns the
// size of the file. When ctx ends, or sections returns an error, the old file stays.
func Write(ctx context.Context, path string, sections func(w *Writer) (about any, err error)) (size int64, err error) {
	err = durable.ReplaceWith(path, func(out io.Writer) error {
		w := &Writer{ctx: ctx, out: out, begun: time.Now(), block: make([]byte, blockHead, blockHead+blockSize)}
		about, err := sections(w)
		if err != nil {
			return err
		}
		if err := w.finish(about); err != nil {
			return err
		}
		size = w.offset
		return nil
	})
	return size, err
}

// Section ends the section that is open and begins the next one. Names must differ.
func (w *Writer) Section(name string) {
	w.flush()
	w.sections = append(w.sections, section{Name: name, Offset: w.offset})
}

// Write appends to the section that is open. It implements io.Writer.
func (w *Writer) Write(part []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.sections[len(w.sections)-1].Bytes += int64(len(part))
	for rest := part; len(rest) > 0; {
		room := blockHead + blockSize - len(w.block)
		n := min(room, len(rest))
		w.block = append(w.block, rest[:n]...)
		if rest = rest[n:]; n == room {
			w.flush()
		}
	}
	return len(part), w.err
}

// Number appends a number of 8 bytes.
func (w *Writer) Number(n uint64) {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], n)
	_, _ = w.Write(text[:]) // w keeps the error
}

// Bytes appends a text after its length.
func (w *Writer) Bytes(text []byte) {
	w.Number(uint64(len(text)))
	_, _ = w.Write(text) // w keeps the error
}

// List appends a list of numbers, or of structs of numbers without gaps, as it lies in memory.
func List[T any](w *Writer, list []T) {
	w.Number(uint64(len(list)))
	_, _ = w.Write(memoryOf(list)) // w keeps the error
}

// Err returns the first error of writing.
func (w *Writer) Err() error { return w.err }

// flush writes the block, if it has anything.
func (w *Writer) flush() {
	if len(w.block) == blockHead || w.err != nil {
		return
	}
	binary.LittleEndian.PutUint32(w.block, checksum(w.offset, w.block[blockHead:]))
	w.put(w.block)
	w.block = w.block[:blockHead]
}

// put writes to the file, no faster than bytesPerSecond.
func (w *Writer) put(part []byte) {
	if _, w.err = w.out.Write(part); w.err != nil {
		return
	}
	w.offset += int64(len(part))
	if file, ok := w.out.(interface{ Sync() error }); ok && w.offset-w.synced >= syncEvery {
		w.synced = w.offset
		if w.err = file.Sync(); w.err != nil {
			return
		}
	}
	due := time.Duration(float64(w.offset) / bytesPerSecond * float64(time.Second))
	w.err = pause.For(w.ctx, due-time.Since(w.begun))
}

// finish writes the directory and the trailer.
func (w *Writer) finish(about any) error {
	w.flush()
	var told directory
	var err error
	if told.About, err = json.Marshal(about); err != nil {
		return err
	}
	told.Sections = w.sections
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(&told); err != nil {
		return err
	}
	offset, length := w.offset, text.Len()
	w.Section("")
	_, _ = w.Write(text.Bytes()) // w keeps the error
	w.flush()
	trailer := binary.LittleEndian.AppendUint64(nil, uint64(offset))
	trailer = binary.LittleEndian.AppendUint64(trailer, uint64(length))
	trailer = binary.LittleEndian.AppendUint32(trailer, checksum(offset, trailer))
	if w.err == nil {
		w.put(append(trailer, magic...))
	}
	return w.err
}
