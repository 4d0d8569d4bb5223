package stream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/mintlake/mintlake/internal/kafka"
)

// errElsewhere tells a replay that it must join another reader. replayReader.fetch returns it.
var errElsewhere = errors.New("the replay is not at this reader's place")

// replayReaders are the readers of the log that serve replays, at most Config.MaxReplays. Replays
// at about the same offset share a reader, so the log is read once for them. One key may have no
// more than its share of the readers for itself alone (see shareOf).
type replayReaders struct {
	server *Server
	mu     sync.Mutex
	list   []*replayReader
	// waiting counts the accepted replays of each key that wait for a reader. While one of them may
	// get a new reader, no newcomer gets a new one.
	waiting map[string]int
	// changed is closed, and made anew, when a replay that waits should try again.
	changed chan struct{}
}

// standing says whether a replay asks for its first reader (newcomer), or runs already and moves
// from one reader to another (accepted).
type standing bool

const (
	newcomer standing = false
	accepted standing = true
)

func newReplayReaders(s *Server) replayReaders {
	return replayReaders{server: s, waiting: map[string]int{}, changed: make(chan struct{})}
}

func (p *replayReaders) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// join returns a reader for a replay at offset. If no reader is at that offset, join makes one. If
// there are too many readers, or the key has its share, it waits for a reader until ctx ends. Then
// it returns the cause of ctx. If that is errReplays and the key has its share, it returns
// errKeyReplays instead.
func (p *replayReaders) join(ctx context.Context, offset int64, key string, who standing) (*replayReader, error) {
	for {
		reader, changed := p.tryJoin(offset, key, who)
		if reader != nil {
			return reader, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, errReplays) || p.mayMake(key) {
				return nil, why
			}
			return nil, errKeyReplays
		}
	}
}

// move leaves a reader and joins another one. Newcomers wait meanwhile, so none of them takes the
// place of the reader that it leaves.
func (p *replayReaders) move(ctx context.Context, from *replayReader, offset int64, key string) (*replayReader, error) {
	p.addWaiting(key, 1)
	defer p.addWaiting(key, -1)
	p.leave(from, key)
	return p.join(ctx, offset, key, accepted)
}

// addWaiting adds delta to the number of the key's replays that wait. When fewer wait, newcomers
// may try again.
func (p *replayReaders) addWaiting(key string, delta int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[key] += delta; p.waiting[key] == 0 {
		delete(p.waiting, key)
	}
	if delta < 0 {
		p.announce()
	}
}

// tryJoin is join without waiting. If reader is nil, the caller tries again when changed is closed.
func (p *replayReaders) tryJoin(offset int64, key string, who standing) (reader *replayReader, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if reader = cmp.Or(p.having(offset), p.reading(offset)); reader == nil {
		if len(p.list) >= p.server.cfg.MaxReplays || p.hasShare(key) || who == newcomer && p.awaited() {
			return nil, p.changed
		}
		reader = &replayReader{of: p, turn: make(chan struct{}, 1), first: offset, next: offset, users: map[string]int{}}
		p.list = append(p.list, reader)
	}
	reader.users[key]++
	p.announce() // a reader that now has two keys counts for neither, so one may get a new reader
	return reader, nil
}

// mayMake returns whether a replay of the key may have a new reader, if there is room for one.
func (p *replayReaders) mayMake(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.hasShare(key)
}

// hasShare returns whether the key alone uses as many readers as shareOf allows. A reader that two
// keys use counts for neither. The caller holds mu.
func (p *replayReaders) hasShare(key string) bool {
	own := 0
	for _, r := range p.list {
		if len(r.users) == 1 && r.users[key] > 0 {
			own++
		}
	}
	return own >= shareOf(key, p.server.cfg.MaxReplays)
}

// awaited returns whether an accepted replay waits that may get a new reader. The caller holds mu.
func (p *replayReaders) awaited() bool {
	for key := range p.waiting {
		if !p.hasShare(key) {
			return true
		}
	}
	return false
}

// having returns a reader that has the record at offset in its buffer; nil if there is none. The
// caller holds mu.
func (p *replayReaders) having(offset int64) *replayReader {
	for _, r := range p.list {
		if first, next := r.place(); first <= offset && offset < next {
			return r
		}
	}
	return nil
}

// reading returns a reader that reads the record at offset next; nil if there is none. The caller
// holds mu.
func (p *replayReaders) reading(offset int64) *replayReader {
	for _, r := range p.list {
		if _, next := r.place(); next == offset {
			return r
		}
	}
	return nil
}

// announce wakes the replays that wait for a reader. The caller holds mu.
func (p *replayReaders) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// leave takes a replay of the key off a reader. It is called once for each join. The last replay
// that leaves closes the reader.
func (p *replayReaders) leave(r *replayReader, key string) {
	p.mu.Lock()
	if r.users[key]--; r.users[key] == 0 {
		delete(r.users, key)
	}
	last := len(r.users) == 0
	if last {
		p.list = slices.DeleteFunc(p.list, func(other *replayReader) bool { return other == r })
		p.announce()
	}
	p.mu.Unlock()
	if last && r.tailer != nil { // no lock is needed: no replay uses the reader any more
		r.tailer.Close()
	}
}

// has returns whether some reader has the record at offset in its buffer.
func (p *replayReaders) has(offset int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.having(offset) != nil
}

// replayReader reads the log from an offset on, for one replay or more, and keeps what it has read
// within Config.replayBuffer. It has no goroutine: a replay that needs more records reads them, for
// all.
type replayReader struct {
	of *replayReaders
	// users counts the replays of each key that have joined. Guarded by of.mu.
	users map[string]int
	// turn is a semaphore of one: the replay that has put a value there reads the log. Only that
	// replay uses tailer.
	turn   chan struct{}
	tailer kafka.TailReader // nil until the first fetch

	mu sync.Mutex
	// records are those at offsets from first up to next, without next; some offsets may have no
	// record. bytes is their size.
	records     []*logRecord
	first, next int64
	bytes       int
	failed      bool
}

// place returns the offset at which the buffer begins, and the offset that is read next. For a
// reader that has failed both are -1, so that no replay joins it.
func (r *replayReader) place() (first, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return -1, -1
	}
	return r.first, r.next
}

// fetch returns up to replayBatch records from offset on. If the buffer has none, it reads the log,
// or waits while another replay reads it. It returns errElsewhere if the buffer begins after
// offset, or if the buffer has none and another reader has the record at offset. Any other error
// but ctx's means that the log cannot be read.
func (r *replayReader) fetch(ctx context.Context, offset int64) ([]*logRecord, error) {
	if list, err := r.buffered(offset); list != nil || err != nil {
		return list, err
	}
	if r.of.has(offset) {
		return nil, errElsewhere
	}
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-r.turn }()
	if list, err := r.buffered(offset); list != nil || err != nil {
		return list, err // another replay has read meanwhile
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.buffered(offset)
}

// buffered returns up to replayBatch records from offset on that are in the buffer; nil if there
// are none.
func (r *replayReader) buffered(offset int64) ([]*logRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failed:
		return nil, errLostLog
	case offset < r.first:
		return nil, errElsewhere
	}
	i := sort.Search(len(r.records), func(i int) bool { return r.records[i].offset >= offset })
	if i == len(r.records) {
		return nil, nil
	}
	return slices.Clone(r.records[i:min(i+replayBatch, len(r.records))]), nil
}

// read reads the next records into the buffer. The caller holds turn.
func (r *replayReader) read(ctx context.Context) error {
	server := r.of.server
	if r.tailer == nil {
		var err error
		if r.tailer, err = server.deps.OpenTail([]string{theLog.Topic}, map[kafka.TopicPartition]int64{theLog: r.next}); err != nil {
			r.fail()
			return err
		}
	}
	fetched, err := r.tailer.FetchBatch(ctx, replayBatch, 0)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.fail()
		return err
	}
	if following(fetched, r.next) < len(fetched) {
		r.fail()
		return errLostLog
	}
	records := make([]*logRecord, len(fetched))
	for i := range fetched {
		if records[i], err = decodeRecord(fetched[i]); err != nil {
			server.metrics.badRecords.Inc()
		}
	}
	server.metrics.replayReads.Add(float64(len(records)))
	r.keep(records)
	return nil
}

// fail makes all replays of the reader end, and keeps others from joining.
func (r *replayReader) fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

// keep adds records to the buffer, and drops the oldest ones beyond its bound.
func (r *replayReader) keep(records []*logRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, record := range records {
		r.bytes += record.size()
		r.next = record.offset + 1
	}
	r.records = append(r.records, records...)
	drop := 0
	// What was just read stays, so that the replay that read it gets it.
	for ; r.bytes > r.of.server.cfg.replayBuffer && drop < len(r.records)-len(records); drop++ {
		r.bytes -= r.records[drop].size()
		r.first = r.records[drop].offset + 1
		r.records[drop] = nil
	}
	r.records = r.records[drop:]
}
