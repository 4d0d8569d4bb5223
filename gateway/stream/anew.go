package stream

import (
	"cmp"
	"context"
	"errors"

	"github.com/mintlake/mintlake/internal/kafka"
)

// errAnew ends tail when the offsets of the log go back.
var errAnew = errors.New("the topic was made anew or lost its last records")

// following returns how many of the records have ascending offsets from next on. It is less than
// all if the topic was made anew, or lost its last records: then kafka.Tailer reads from the first
// offset that there is.
func following(records []kafka.Record, next int64) int {
	for i := range records {
		if records[i].Offset < next {
			return i
		}
		next = records[i].Offset + 1
	}
	return len(records)
}

// forgetLog is called when the offsets of the log went back. It forgets all offsets of the old log,
// and makes the replays end: at their offsets they would read other slots. The caller then finds
// where to go on with beginning. It is for feed only.
func (s *Server) forgetLog() {
	if tip := s.marks.clear(); tip > 0 {
		s.log.ended = cmp.Or(s.log.ended, tip-1)
	}
	s.log.torn = s.log.ended > 0 // otherwise nothing was read yet
	s.readers.fail()
	// Last, so that a replay that begins in this generation finds no old offset.
	s.hub.generation.Add(1)
}

// resume returns the offset at which live delivery goes on after forgetLog: that of the first
// record that may belong to a slot after the last one that was delivered whole. Transactions of
// that slot that were delivered before are recognized as repeats. Records before that offset were
// delivered before, as when the topic was filled from a backup.
func (s *Server) resume(ctx context.Context, begin, end int64) (int64, error) {
	live, err := s.search(ctx, s.log.ended+1, begin, end)
	if err == nil {
		s.hub.beginAnew(ctx, live)
	}
	return live, err
}

// fail makes all replays end that use a reader, and keeps others from joining one of these.
func (p *replayReaders) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.list {
		r.fail()
	}
}

// beginAnew is begin for a running hub. The shards take the offset after the batches that were
// published before.
func (h *hub) beginAnew(ctx context.Context, offset int64) {
	h.send(ctx, &batch{generation: h.generation.Load(), next: offset})
}
