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

// errElsewhere is returned by replayReader.fetch to a replay that must join another reader.
var errElsewhere = errors.New("the replay is not at this reader's place")

// replayReaders are the readers of the log that serve replays, at most Config.MaxReplays. Replays
// that are at about the same place share one, so the log is read once for them. A key may have a
// share of them for itself (see shareOf).
type replayReaders struct {
	server *Server
	mu     sync.Mutex
	list   []*replayReader
	// waiting counts the accepted replays of each key that wait for a reader. While one of them may
	// have a new one, no newcomer gets it.
	waiting map[string]int
	// changed is closed when list or waiting changes.
	changed chan struct{}
}

// standing says whether a replay has begun to deliver.
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

// join returns a reader for a replay at offset. If no reader has that offset in its buffer, join
// makes one. If there are too many, or too many of the key, it waits for one until ctx ends. Then
// it returns ctx's cause, or errKeyReplays instead of errReplays if those of the key were too many.
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

// move leaves a reader for another one, as join finds it. It comes before newcomers, and none of
// them takes the place that comes free.
func (p *replayReaders) move(ctx context.Context, from *replayReader, offset int64, key string) (*replayReader, error) {
	p.wait(key, 1)
	defer p.wait(key, -1)
	p.leave(from, key)
	return p.join(ctx, offset, key, accepted)
}

// wait adds to waiting. Newcomers may get a reader once fewer wait.
func (p *replayReaders) wait(key string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[key] += n; p.waiting[key] == 0 {
		delete(p.waiting, key)
	}
	if n < 0 {
		p.announce()
	}
}

// tryJoin is join without waiting. changed is closed when another call may find a reader.
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
	p.announce() // a reader that two keys share counts for neither
	return reader, nil
}

// mayMake returns whether a replay of the key may have a new reader, if there is room for one.
func (p *replayReaders) mayMake(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.hasShare(key)
}

// hasShare returns whether the key is the only user of at least shareOf readers. A reader that two
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

// awaited returns whether an accepted replay waits for a new reader. The caller holds mu.
func (p *replayReaders) awaited() bool {
	for key := range p.waiting {
		if !p.hasShare(key) {
			return true
		}
	}
	return false
}

// having returns a reader that has read the record at offset; nil if there is none. The caller
// holds mu.
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

func (p *replayReaders) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// leave is called once for each join. The last one to leave closes the reader.
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
	if last && r.tailer != nil { // nobody else uses it any more
		r.tailer.Close()
	}
}

// has returns whether some reader has read the record at offset.
func (p *replayReaders) has(offset int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.having(offset) != nil
}

// replayReader reads the log from an offset on, for one replay or more, and keeps what it has read
// within Config.replayBuffer. It has no goroutine: the replay that needs more reads for all.
type replayReader struct {
	of *replayReaders
	// users counts the replays of each key that have joined. Guarded by of.mu.
	users map[string]int
	// turn has room for one value, which the replay that reads puts there. Only that one uses
	// tailer.
	turn   chan struct{}
	tailer kafka.TailReader // nil until the first fetch

	mu sync.Mutex
	// records are those from first up to next; some offsets may have no record.
	records     []*logRecord
	first, next int64
	bytes       int
	failed      bool
}

// place returns the offsets of the first record in the buffer and of the one that is read next. A
// reader that has failed is at no place.
func (r *replayReader) place() (first, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed {
		return -1, -1
	}
	return r.first, r.next
}

// fetch returns up to replayBatch records from offset on. It reads the log if they are not in the
// buffer, unless another replay does so already. It returns errElsewhere if the buffer begins after
// offset, and when another reader has what would have to be read. Any other error but ctx's means
// that the log cannot be read.
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
		return list, err // another one has read meanwhile
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	return r.buffered(offset)
}

// buffered returns records from offset on that are in the buffer; nil if there are none.
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

// read reads the next records into the buffer. The caller has the turn.
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
	// What was just read stays, so that the one who read it gets it.
	for ; r.bytes > r.of.server.cfg.replayBuffer && drop < len(r.records)-len(records); drop++ {
		r.bytes -= r.records[drop].size()
		r.first = r.records[drop].offset + 1
		r.records[drop] = nil
	}
	r.records = r.records[drop:]
}
