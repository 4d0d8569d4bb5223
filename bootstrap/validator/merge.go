package validator

import (
	"bufio"
	"context"
	"fmt"
	"io"
)

// mergeBuffer is how many bytes of each run are read ahead.
const mergeBuffer = 64 << 10

// cursor is the next entry of a run; left is how many entries follow it.
type cursor struct {
	entry
	r    *bufio.Reader
	left int64
}

func (c *cursor) next() error {
	raw, err := c.r.Peek(entryBytes)
	if err != nil {
		return fmt.Errorf("read the spill of accounts: %w", err)
	}
	c.decode(raw)
	_, _ = c.r.Discard(entryBytes) // no error: they were peeked
	c.left--
	return nil
}

// merge merges the runs, and calls older with each version of an account that a newer version
// replaces. It returns how many accounts exist, which means that their newest version has lamports.
// It calls progress now and then with the number of entries that were merged.
func (s *spill) merge(ctx context.Context, older func(*entry) error, progress func(done int64)) (live int64, err error) {
	heap, err := s.cursors()
	if err != nil {
		return 0, err
	}
	var last entry
	for done := int64(0); len(heap) > 0; done++ {
		if done%(1<<20) == 0 {
			progress(done)
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
		top := heap[0].entry
		if done > 0 && top.address == last.address {
			err = older(&last)
		} else if done > 0 && !last.empty() {
			live++
		}
		if err != nil {
			return 0, err
		}
		last = top
		if heap, err = advance(heap); err != nil {
			return 0, err
		}
	}
	if s.entries() > 0 && !last.empty() {
		live++
	}
	return live, nil
}

// cursors returns a heap of cursors at the beginnings of all runs, with the lowest entry first.
func (s *spill) cursors() ([]*cursor, error) {
	var heap []*cursor
	at := int64(0)
	for _, run := range s.runs {
		length := run * entryBytes
		c := &cursor{r: bufio.NewReaderSize(io.NewSectionReader(s.file, at, length), mergeBuffer), left: run}
		if err := c.next(); err != nil {
			return nil, err
		}
		heap = append(heap, c)
		at += length
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	return heap, nil
}

// advance moves the first cursor on, or removes it at the end of its run.
func advance(heap []*cursor) ([]*cursor, error) {
	if heap[0].left == 0 {
		heap[0] = heap[len(heap)-1]
		heap = heap[:len(heap)-1]
	} else if err := heap[0].next(); err != nil {
		return nil, err
	}
	if len(heap) > 0 {
		sink(heap, 0)
	}
	return heap, nil
}

// sink restores the heap's order below i.
func sink(heap []*cursor, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].compare(&heap[child].entry) < 0 {
			child++
		}
		if heap[i].compare(&heap[child].entry) <= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
