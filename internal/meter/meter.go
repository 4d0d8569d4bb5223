// Package meter lets long work tell how far it is, without knowing who looks.
//
// In: what is done, in which unit, of how much. Out: calls of the function that a command gives.
// Guarantees: work that nobody meters costs nothing; counts may come from any goroutine.
package meter

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Bytes is the unit of work that is told in megabytes and not in things.
const Bytes = "bytes"

// Meter begins to tell of a piece of work: what it is, its unit, and its total in that unit, 0
// where nobody knows. count adds what is done; end stops the telling. A nil Meter tells nothing.
type Meter func(what, unit string, total int64) (count func(n int64), end func())

// Begin is the call of a Meter that may be nil.
func (m Meter) Begin(what, unit string, total int64) (count func(n int64), end func()) {
	if m == nil {
		return func(int64) {}, func() {}
	}
	return m(what, unit, total)
}

// Writer counts the bytes that it passes on.
type Writer struct {
	io.Writer
	Count func(n int64)
}

// Write implements io.Writer.
func (w Writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.Count(int64(n))
	return n, err
}

// lookEvery is the time between two looks at a folder that another process fills.
const lookEvery = time.Second

// Folder tells how large a folder becomes until end is called, for work that another process does.
func (m Meter) Folder(what, folder string, total int64) (end func()) {
	if m == nil {
		return func() {}
	}
	count, stop := m(what, Bytes, total)
	ended, looked := make(chan struct{}), sync.WaitGroup{}
	looked.Go(func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for before := int64(0); ; {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			now := Size(folder)
			count(now - before)
			before = now
		}
	})
	return func() {
		close(ended)
		looked.Wait()
		stop()
	}
}

// Size is the size of all files in a folder, as far as they can be read: it is a figure to tell,
// not one to rely on.
func Size(folder string) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil // what is gone meanwhile has no size
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
