package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// resume places the reader after a cursor. If the ring has all changes after the cursor, the reader
// goes on in the ring. Otherwise the changes up to the last mark are read from the topics, and the
// reader goes on in the ring after that mark. If the changes cannot be reported, resume returns a
// reset with the place at which the reader goes on; else it returns an empty batch.
func (r *Reader) resume(from *vector) (Batch, error) {
	f := r.feed
	f.mark() // the nearer the last mark is to the cursor, the fewer changes come twice
	f.mu.Lock()
	// Look for the last mark that the cursor has reached and after which the ring has all changes.
	// The reader begins at first, not at seq: the cursor may be from another node, and its owner
	// may have seen no change of the records after the mark.
	for i := len(f.marks) - 1; i >= 0; i-- {
		if reached := &f.marks[i]; reached.first >= f.oldest() && from.reaches(&reached.at) {
			at := r.goTo(reached)
			f.mu.Unlock()
			if reset := f.foreign(from); reset != "" {
				return r.reset(reset, &at), nil
			}
			f.metrics.replays.WithLabelValues("memory").Inc()
			return Batch{}, nil
		}
	}
	f.mu.Unlock()
	at, err := r.goToLast()
	if err != nil {
		return Batch{}, err
	}
	reset, err := r.replay(from, &at)
	switch {
	case err != nil:
		return Batch{}, err
	case reset != "":
		return r.reset(reset, &at), nil
	}
	f.metrics.replays.WithLabelValues("topics").Inc()
	r.replayedTo = at.String()
	return Batch{}, nil
}

// beginAnew places the reader at the last mark and returns a reset, because its cursor is of no use
// here.
func (r *Reader) beginAnew() (Batch, error) {
	r.feed.mark()
	at, err := r.goToLast()
	if err != nil {
		return Batch{}, err
	}
	return r.reset(ResetUnknown, &at), nil
}

// goTo places the reader at a mark and returns the mark's place. The caller holds the lock.
func (r *Reader) goTo(m *mark) vector {
	r.seq, r.since = m.first, m.seq
	return m.at
}

// goToLast places the reader at the last mark and returns the mark's place.
func (r *Reader) goToLast() (vector, error) {
	if err := r.awaitMark(); err != nil {
		return vector{}, err
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	return r.goTo(&r.feed.marks[len(r.feed.marks)-1]), nil
}

// reset counts a reset and returns it. The reader goes on at place.
func (r *Reader) reset(reset Reset, place *vector) Batch {
	r.feed.metrics.replays.WithLabelValues("nowhere").Inc()
	r.cursor = place.String()
	return Batch{Reset: reset, Cursor: r.cursor}
}

// awaitMark waits until there is a mark: right after the start there is none.
func (r *Reader) awaitMark() error {
	for {
		r.feed.mu.Lock()
		known, changed := len(r.feed.marks) > 0, r.feed.changed
		r.feed.mu.Unlock()
		if known {
			return nil
		}
		select {
		case <-changed:
		case <-r.feed.life.Done():
			return ErrClosed
		}
	}
}

// foreign returns ResetUnknown if a cursor is after the ends of the topics: then it is from other
// topics. If the ends cannot be read, the cursor is taken as valid. A cursor that the last mark has
// reached cannot be after the ends, so these are not read.
func (f *Feed) foreign(from *vector) Reset {
	ctx, cancel := context.WithTimeout(f.life, f.cfg.replayTimeout)
	defer cancel()
	f.mu.Lock()
	ahead := len(f.marks) > 0 && !f.marks[len(f.marks)-1].at.reaches(from)
	f.mu.Unlock()
	if !ahead {
		return ""
	}
	ends, err := f.deps.Log.EndOffsets(ctx, topics[:])
	if end := vectorOf(ends); err == nil && !end.reaches(from) {
		return ResetUnknown
	}
	return ""
}

// replay reads the records between two places and adds the mints that they name to replayed. It
// returns a reset if there are more than MaxReplay records, if the topics no longer have them all,
// or if from is of other topics.
func (r *Reader) replay(from, to *vector) (Reset, error) {
	f := r.feed
	ctx, cancel := context.WithTimeout(f.life, f.cfg.replayTimeout)
	defer cancel()
	if err := f.replays.Acquire(ctx, 1); err != nil {
		return "", fmt.Errorf("wait for a replay: %w", err)
	}
	defer f.replays.Release(1)
	starts, err := f.deps.Log.StartOffsets(ctx, topics[:])
	if err != nil {
		return "", fmt.Errorf("read start offsets: %w", err)
	}
	if reset := f.foreign(from); reset != "" {
		return reset, nil
	}
	start := vectorOf(starts)
	if !from.reaches(&start) {
		return ResetTooOld, nil
	}
	begin, end, records := from.offsets(), to.offsets(), int64(0)
	for tp, offset := range end {
		records += max(offset-begin[tp], 0)
		if _, known := begin[tp]; !known {
			begin[tp] = 0 // the partition was added after the cursor
		}
	}
	if records > f.cfg.MaxReplay {
		return ResetTooOld, nil
	}
	if records == 0 {
		return "", nil
	}
	return "", r.read(ctx, begin, end)
}

// replayBatch bounds a fetch in records.
const replayBatch = 5_000

// read adds to replayed each mint that a record from begin to end names.
func (r *Reader) read(ctx context.Context, begin, end Offsets) error {
	tail, err := r.feed.deps.OpenTail(topics[:], begin)
	if err != nil {
		return fmt.Errorf("open tail: %w", err)
	}
	defer tail.Close()
	kinds := map[pubkey.Key]Kind{}
	err = kafka.ReadTo(ctx, tail, maps.Clone(begin), end, replayBatch, func(records []kafka.Record) error {
		for i := range records {
			record := &records[i]
			if record.Offset >= end[record.TopicPartition()] {
				continue // it is after the mark: the ring has its changes
			}
			if mint, err := pubkey.Parse(record.Key); err == nil && kinds[mint] != KindNew {
				kinds[mint] = kindOf(record)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, mint := range slices.SortedFunc(maps.Keys(kinds), pubkey.Compare) {
		r.replayed = append(r.replayed, Change{Kind: kinds[mint], Mint: &mint})
	}
	return nil
}

// kindOf returns KindNew for a record of InitializeMint, otherwise KindChanged.
func kindOf(record *kafka.Record) Kind {
	if strings.HasSuffix(string(record.Header(schemas.HeaderType)), "."+string(schemas.KindInitializeMint)) {
		return KindNew
	}
	return KindChanged
}
