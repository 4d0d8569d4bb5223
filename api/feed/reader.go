package feed

import (
	"errors"
	"sort"
	"sync"
	"time"
)

// Errors of Open and Next. ErrClosed: the node stops.
var (
	ErrTooMany       = errors.New("too many streams on this node")
	ErrTooManyClient = errors.New("too many streams of this client")
	ErrLagged        = errors.New("the reader was too slow")
	ErrClosed        = errors.New("the feed is closed")
)

// Batch is what a reader gets at once: each mint at most once.
type Batch struct {
	Changes []Change
	// Cursor leads on behind the batch; empty when no new place is known yet.
	Cursor string
	// Reset is set when the changes since the reader's cursor cannot be told, with the reason: what
	// follows begins now.
	Reset Reset
}

// Reset says why a cursor leads nowhere.
type Reset string

// Reasons of a reset.
const (
	// ResetTooOld: the topics do not hold what follows the cursor any more, or it is more than a
	// node reads.
	ResetTooOld Reset = "cursor_too_old"
	// ResetUnknown: the cursor is from another installation's topics, or from before these were
	// made anew.
	ResetUnknown Reset = "cursor_unknown"
)

// maxBatch bounds the changes of a batch.
const maxBatch = 1_000

// Reader is one stream. Its methods are for one goroutine, Close for any.
type Reader struct {
	feed   *Feed
	client string
	close  sync.Once

	from   *vector // what was asked for, until Next has dealt with it
	seq    uint64  // the number of the next change
	cursor string  // the last one given
	queue  []Change
	queued string // the cursor behind the queue
}

// Open begins a stream behind a cursor, or now when it is empty. It fails with ErrCursor,
// ErrTooMany, ErrTooManyClient or ErrClosed.
func (f *Feed) Open(client, cursor string) (*Reader, error) {
	r := &Reader{feed: f, client: client}
	if cursor != "" {
		from, err := parseCursor(cursor)
		if err != nil {
			return nil, err
		}
		r.from = &from
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.life.Err() != nil:
		return nil, ErrClosed
	case f.streams >= f.cfg.MaxStreams:
		f.metrics.ended.WithLabelValues("node_limit").Inc()
		return nil, ErrTooMany
	case f.clients.Full(client):
		f.metrics.ended.WithLabelValues("client_limit").Inc()
		return nil, ErrTooManyClient
	}
	f.streams++
	f.clients.Add(client)
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

// Next waits for changes, or a new cursor, for as long as patience; then it returns an empty batch.
// It fails with ErrLagged and ErrClosed, and with what the topics failed with.
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

func (r *Reader) next(patience time.Duration) (Batch, error) {
	if r.from != nil {
		from := *r.from
		r.from = nil
		reset, err := r.resume(&from)
		if err != nil || reset != "" {
			return Batch{Reset: reset}, err
		}
	}
	if len(r.queue) > 0 || r.queued != "" {
		return r.takeQueued(), nil
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

// take takes what the ring holds for the reader, or what to wait for.
func (r *Reader) take() (Batch, <-chan struct{}, error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.seq < f.oldest() {
		return Batch{}, nil, ErrLagged
	}
	batch := Batch{}
	at := make(map[uint32]int)
	for ; r.seq < f.next && len(batch.Changes) < maxBatch; r.seq++ {
		change := f.ring[r.seq%uint64(len(f.ring))]
		if place, again := at[change.ID]; again {
			if batch.Changes[place].Kind == KindNew && change.Kind == KindChanged {
				change.Kind = KindNew
			}
			batch.Changes[place] = change
			continue
		}
		at[change.ID] = len(batch.Changes)
		batch.Changes = append(batch.Changes, change)
	}
	if place := f.markBefore(r.seq); place != nil {
		if cursor := place.at.String(); cursor != r.cursor {
			r.cursor, batch.Cursor = cursor, cursor
		}
	}
	return batch, f.changed, nil
}

// markBefore is the last mark that a reader who has seen everything below seq has passed. It needs
// the lock.
func (f *Feed) markBefore(seq uint64) *mark {
	passed := sort.Search(len(f.marks), func(i int) bool { return f.marks[i].seq > seq })
	if passed == 0 {
		return nil
	}
	return &f.marks[passed-1]
}

// takeQueued returns the next maxBatch changes of the queue. Only the batch that empties the queue
// has a cursor: it leads on behind all of them.
func (r *Reader) takeQueued() Batch {
	n := min(len(r.queue), maxBatch)
	batch := Batch{Changes: r.queue[:n]}
	r.queue = r.queue[n:]
	if len(r.queue) == 0 {
		batch.Cursor, r.cursor = r.queued, r.queued
		r.queue, r.queued = nil, ""
	}
	return batch
}
