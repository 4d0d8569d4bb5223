package feed

import (
	"errors"
	"sort"
	"sync"
	"time"
)

// Errors of Open and Next. ErrClosed means that the node stops.
var (
	ErrTooMany       = errors.New("too many streams on this node")
	ErrTooManyClient = errors.New("too many streams of this client")
	ErrLagged        = errors.New("the reader was too slow")
	ErrClosed        = errors.New("the feed is closed")
)

// Batch is what Next returns. It has each mint at most once.
type Batch struct {
	Changes []Change
	// Cursor is the place after the batch; empty if no new place is known yet.
	Cursor string
	// Reset is the reason why the changes since the reader's cursor cannot be reported; empty if
	// they can. A batch with a reset has no changes: changes are reported again from Cursor on,
	// which is now.
	Reset Reset
}

// Reset is the reason why a reader cannot go on from a cursor.
type Reset string

// Reasons of a reset.
const (
	// ResetTooOld: the topics do not have all records after the cursor any more, or these are more
	// than a node reads again.
	ResetTooOld Reset = "cursor_too_old"
	// ResetUnknown: the cursor is from the topics of another installation, or from before these
	// topics were made anew.
	ResetUnknown Reset = "cursor_unknown"
)

// maxBatch bounds the changes of a batch.
const maxBatch = 1_000

// Reader is one stream. Only one goroutine may use it; Close may be called by any.
type Reader struct {
	feed   *Feed
	client string
	close  sync.Once

	from   *vector // the cursor of Open, until Next has resumed from it
	anew   bool    // Next must begin with a reset
	seq    uint64  // the number of the next change
	since  uint64  // seq of the mark at which it resumed: older cursors would lead back
	cursor string  // the last cursor that Next returned
	// replayed are the changes that resume read from the topics. Next returns them before those of
	// the ring. replayedTo is the cursor after all of them; empty if there was no replay, or its
	// last batch was returned.
	replayed   []Change
	replayedTo string
}

// Open begins a stream after a cursor, or now if the cursor is empty. It fails with ErrCursor,
// ErrTooMany, ErrTooManyClient or ErrClosed.
func (f *Feed) Open(client, cursor string) (*Reader, error) {
	if cursor == "" {
		return f.open(&Reader{feed: f, client: client})
	}
	from, err := parseCursor(cursor)
	if err != nil {
		return nil, err
	}
	return f.open(&Reader{feed: f, client: client, from: &from})
}

// OpenAnew begins a stream for a client whose cursor is from another installation. The stream
// begins with a reset. OpenAnew fails as Open does.
func (f *Feed) OpenAnew(client string) (*Reader, error) {
	return f.open(&Reader{feed: f, client: client, anew: true})
}

// open counts the stream, and places the reader before the next change.
func (f *Feed) open(r *Reader) (*Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.life.Err() != nil:
		return nil, ErrClosed
	case f.streams >= f.cfg.MaxStreams:
		f.metrics.ended.WithLabelValues("node_limit").Inc()
		return nil, ErrTooMany
	case f.clients.Full(r.client):
		f.metrics.ended.WithLabelValues("client_limit").Inc()
		return nil, ErrTooManyClient
	}
	f.streams++
	f.clients.Add(r.client)
	r.seq = f.next
	return r, nil
}

// Close ends the stream.
func (r *Reader) Close() {
	r.close.Do(func() {
		r.feed.mu.Lock()
		defer r.feed.mu.Unlock()
		r.feed.streams--
		r.feed.clients.Remove(r.client)
	})
}

// Next waits for changes or a new cursor. After patience it returns an empty batch. The first call
// may take longer, if the reader resumes from a cursor or begins with a reset. It fails with
// ErrLagged, ErrClosed, or the error with which the topics could not be read.
func (r *Reader) Next(patience time.Duration) (Batch, error) {
	batch, err := r.next(patience)
	switch {
	case r.feed.life.Err() != nil:
		err = ErrClosed
	case errors.Is(err, ErrLagged):
		r.feed.metrics.ended.WithLabelValues("lagged").Inc()
	}
	for i := range batch.Changes {
		r.feed.metrics.changes.WithLabelValues(string(batch.Changes[i].Kind)).Inc()
	}
	return batch, err
}

// next is Next without its metrics.
func (r *Reader) next(patience time.Duration) (Batch, error) {
	if r.anew {
		r.anew = false
		return r.beginAnew()
	}
	if r.from != nil {
		from := *r.from
		r.from = nil
		if batch, err := r.resume(&from); err != nil || batch.Reset != "" {
			return batch, err
		}
	}
	if len(r.replayed) > 0 || r.replayedTo != "" {
		return r.takeReplayed(), nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		batch, changed, err := r.take()
		if err != nil || len(batch.Changes) > 0 || batch.Cursor != "" {
			return batch, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return Batch{}, nil
		case <-r.feed.life.Done():
			return Batch{}, ErrClosed
		}
	}
}

// take returns what the ring has for the reader, and a channel that is closed when there may be
// more. Of several changes of one mint it returns the last, but new if a mint is new and then
// changed. The batch has a cursor if the reader has passed a mark at a new place.
func (r *Reader) take() (Batch, <-chan struct{}, error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.seq < f.oldest() {
		return Batch{}, nil, ErrLagged
	}
	batch := Batch{}
	indexOf := make(map[uint32]int) // of a row id in the batch
	for ; r.seq < f.next && len(batch.Changes) < maxBatch; r.seq++ {
		change := f.ring[r.seq%uint64(len(f.ring))]
		if index, again := indexOf[change.ID]; again {
			if batch.Changes[index].Kind == KindNew && change.Kind == KindChanged {
				change.Kind = KindNew
			}
			batch.Changes[index] = change
			continue
		}
		indexOf[change.ID] = len(batch.Changes)
		batch.Changes = append(batch.Changes, change)
	}
	if passed := f.markBefore(r.seq); passed != nil && passed.seq >= r.since {
		if cursor := passed.at.String(); cursor != r.cursor {
			r.cursor, batch.Cursor = cursor, cursor
		}
	}
	return batch, f.changed, nil
}

// markBefore returns the last mark that a reader who has seen all changes below seq has passed; nil
// if there is none. The caller holds the lock.
func (f *Feed) markBefore(seq uint64) *mark {
	passed := sort.Search(len(f.marks), func(i int) bool { return f.marks[i].seq > seq })
	if passed == 0 {
		return nil
	}
	return &f.marks[passed-1]
}

// takeReplayed returns the next maxBatch changes of replayed. Only the last of these batches has a
// cursor: the place after all of them.
func (r *Reader) takeReplayed() Batch {
	n := min(len(r.replayed), maxBatch)
	batch := Batch{Changes: r.replayed[:n]}
	r.replayed = r.replayed[n:]
	if len(r.replayed) == 0 {
		batch.Cursor, r.cursor = r.replayedTo, r.replayedTo
		r.replayed, r.replayedTo = nil, ""
	}
	return batch
}
