package validator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
)

// source is an archive that can be read more than once, from its beginning: a file, or a URL or a
// pipe that is saved to a file while it is read.
type source struct {
	// name is the archive's file name.
	name string
	path string
	save *saving      // nil for a file
	read atomic.Int64 // bytes that were read since the last open
}

// openSource returns the archive that where names: a URL, - for standard input, or the path of a
// file or a pipe. An archive that is not a file is saved to the file as in folder.
func openSource(ctx context.Context, where, folder, as string) (*source, error) {
	target := filepath.Join(folder, as)
	if isURL(where) {
		address, err := url.Parse(where)
		if err != nil {
			return nil, errors.New("the URL of the snapshot cannot be parsed")
		}
		save, err := saveURL(ctx, address, target)
		if err != nil {
			return nil, err
		}
		return &source{name: save.remote.Name, path: target, save: save}, nil
	}
	if where == "-" {
		save, err := savePipe(ctx, os.Stdin, target)
		return &source{name: "standard input", path: target, save: save}, err
	}
	info, err := os.Stat(where)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if info.Mode().IsRegular() {
		return &source{name: filepath.Base(where), path: where}, nil
	}
	if info.IsDir() {
		return nil, fmt.Errorf("snapshot: %s is a folder: name the archive", where)
	}
	pipe, err := os.Open(where)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	save, err := savePipe(ctx, pipe, target)
	return &source{name: path.Base(where), path: target, save: save}, err
}

// size returns the archive's length in bytes; 0 while it is not known.
func (s *source) size() int64 {
	if s.save != nil {
		return s.save.size()
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// open opens the archive at its beginning. If the archive is still being saved, its reader waits
// for more bytes.
func (s *source) open() (io.ReadCloser, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s.read.Store(0)
	return &counted{File: file, source: s}, nil
}

// close ends the saving of the archive. The saved file stays for the next run.
func (s *source) close() {
	if s.save != nil {
		s.save.stop()
	}
}

// counted counts the bytes that are read, and waits at the end of a file that still grows.
type counted struct {
	*os.File
	source *source
}

func (c *counted) Read(p []byte) (int, error) {
	for {
		var more bool
		var err error
		if c.source.save != nil {
			more, err = c.source.save.wait(c.source.read.Load())
		}
		if err != nil {
			return 0, err
		}
		n, err := c.File.Read(p)
		c.source.read.Add(int64(n))
		if n > 0 || !more || !errors.Is(err, io.EOF) {
			return n, err
		}
	}
}
