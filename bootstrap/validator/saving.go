package validator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// saving writes an archive to a file, while a reader already reads the beginning of the file.
type saving struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
	remote remote

	mu      sync.Mutex
	changed *sync.Cond
	written int64
	whole   bool
	err     error
}

func newSaving(cancel context.CancelFunc) *saving {
	s := &saving{cancel: cancel}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *saving) stop() {
	s.cancel()
	s.ended.Wait()
}

// size returns the length of the whole archive; 0 if it is not known.
func (s *saving) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole {
		return s.written
	}
	return s.remote.Size
}

// wait returns when the file has more than read bytes, is whole, or cannot be saved. more reports
// that the file may still grow.
func (s *saving) wait(read int64) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.written <= read && !s.whole && s.err == nil {
		s.changed.Wait()
	}
	if s.written > read || s.whole {
		return !s.whole, nil
	}
	return false, s.err
}

func (s *saving) grow(n int) {
	s.mu.Lock()
	s.written += int64(n)
	s.mu.Unlock()
	s.changed.Broadcast()
}

// end notes how the saving ended, nil if the file is whole.
func (s *saving) end(err error) {
	s.mu.Lock()
	s.whole, s.err = err == nil, err
	s.mu.Unlock()
	s.changed.Broadcast()
}

// copy writes the bytes of in to the file.
func (s *saving) copy(file *os.File, in io.Reader) error {
	buffer := make([]byte, 1<<20)
	for {
		n, err := in.Read(buffer)
		if _, writeErr := file.Write(buffer[:n]); writeErr != nil {
			return &diskError{writeErr}
		}
		s.grow(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// diskError is an error of the file. It is of no use to try again.
type diskError struct{ err error }

func (e *diskError) Error() string { return "save the snapshot: " + e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }

// savePipe saves what comes through a pipe. A pipe begins anew in each run, so what an earlier run
// saved is overwritten.
func savePipe(ctx context.Context, pipe io.ReadCloser, target string) (*saving, error) {
	file, err := os.Create(target)
	if err != nil {
		return nil, fmt.Errorf("save the snapshot: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := newSaving(cancel)
	context.AfterFunc(ctx, func() { _ = pipe.Close() })
	s.ended.Go(func() {
		defer func() { _ = file.Close() }()
		err := s.copy(file, pipe)
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		s.end(err)
	})
	return s, nil
}
