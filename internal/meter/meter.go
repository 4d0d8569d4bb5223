// Package meter lets long work report its progress without knowing who displays it.
//
// In: what is done, in which unit, and of how much. Out: calls of a function that the command
// provides. Guarantees: work without a meter costs nothing; any goroutine may report.
package meter

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Bytes is the unit whose counts are displayed in megabytes. Other units are displayed as plain
// numbers.
const Bytes = "bytes"

// Meter begins to display the progress of a piece of work. what names the work. total is its size
// in the unit, or 0 if the size is not known. count adds n to the progress. end ends the display. A
// nil Meter displays nothing.
type Meter func(what, unit string, total int64) (count func(n int64), end func())

// Begin calls m. If m is nil, the functions that it returns do nothing.
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

// lookEvery is the time between two reads of the size of a folder.
const lookEvery = time.Second

// Folder reports the growth of a folder as progress until end is called. It is for work that
// another process does. What the folder has at the start counts too; what is added in the last
// second may be missing.
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

// Size returns the size of all files in a folder that can be read. It is for display only.
func Size(folder string) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil // the file may be gone meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
