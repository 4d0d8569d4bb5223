package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// theLog is the only partition of the topic, so its offsets order all records.
var theLog = kafka.TopicPartition{Topic: schemas.TopicTransactions, Partition: 0}

// errNoSlot is the error while the log is empty.
var errNoSlot = errors.New("no slot has come yet")

// oldSlotError refuses a slot that is older than what the log keeps.
type oldSlotError struct{ asked, oldest uint64 }

func (e *oldSlotError) Error() string {
	return fmt.Sprintf("from_slot: slot %d is no longer kept; the oldest slot there is is %d", e.asked, e.oldest)
}

// mark is the offset of the record with which a slot became the highest of the log.
type mark struct {
	slot   uint64
	offset int64
}

// marksKept bounds the marks, 16 bytes each: a day of slots.
const marksKept = 1 << 18

// marks remembers where slots begin in the log, as far as this process has read it.
type marks struct {
	mu   sync.Mutex
	list []mark // slots and offsets ascend
}

// add takes the tip and the offset of a record. It keeps them if the tip is higher than that of
// every record before. If there are too many marks, it drops the older half.
func (m *marks) add(tip uint64, offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.list); n > 0 && tip <= m.list[n-1].slot {
		return
	}
	if len(m.list) >= marksKept {
		m.list = slices.Clone(m.list[marksKept/2:])
	}
	m.list = append(m.list, mark{tip, offset})
}

// clear forgets all marks. It returns the highest slot that it forgets; 0 if there is none.
func (m *marks) clear() (tip uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.list); n > 0 {
		tip = m.list[n-1].slot
	}
	m.list = nil
	return tip
}

// find returns the offset of the first record whose tip, the highest slot up to it, is slot or
// higher. It returns false if that record may lie before the first mark, or has not been read yet.
func (m *marks) find(slot uint64) (int64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].slot >= slot })
	if i == 0 || i == len(m.list) {
		return 0, false
	}
	return m.list[i].offset, true
}

// probeTimeout bounds a call of recordAt, and a shared call of lookForExtent.
const probeTimeout = 10 * time.Second

// recordAt returns the first record at offset or after it.
func (s *Server) recordAt(ctx context.Context, offset int64) (kafka.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	tailer, err := s.deps.OpenTail([]string{theLog.Topic}, map[kafka.TopicPartition]int64{theLog: offset})
	if err != nil {
		return kafka.Record{}, err
	}
	defer tailer.Close()
	records, err := tailer.FetchBatch(ctx, 1, 0)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("look into the log: %w", err)
	}
	return records[0], nil
}

// logExtent is the oldest slot that is complete in the log, and the offsets at which the log begins
// and ends.
type logExtent struct {
	oldest     uint64
	begin, end int64
}

// extent returns the extent of the log. All who ask at the same time share one call of
// lookForExtent. If the log is empty, it returns errNoSlot together with both offsets.
func (s *Server) extent(ctx context.Context) (logExtent, error) {
	return s.looking.Do(ctx, "", probeTimeout, s.lookForExtent)
}

func (s *Server) lookForExtent(ctx context.Context) (logExtent, error) {
	begins, ends, err := kafka.Bounds(ctx, s.deps.Offsets, theLog.Topic)
	if err != nil {
		return logExtent{}, err
	}
	b := logExtent{begin: begins[theLog], end: ends[theLog]}
	if b.begin >= b.end {
		return b, errNoSlot
	}
	first, err := s.recordAt(ctx, b.begin)
	if err != nil {
		return logExtent{}, err
	}
	b.oldest = tipOf(&first)
	if b.begin > 0 {
		b.oldest++ // retention may have deleted the beginning of the first slot
	}
	return b, nil
}

// locate returns an offset such that all records of slot and of later slots lie at it or after it.
// If the log no longer has all of slot, it returns an oldSlotError.
func (s *Server) locate(ctx context.Context, slot uint64) (int64, error) {
	b, err := s.extent(ctx)
	switch {
	case errors.Is(err, errNoSlot):
		return b.end, nil
	case err != nil:
		return 0, err
	case slot < b.oldest:
		return 0, &oldSlotError{slot, b.oldest}
	case slot == b.oldest: // marks may lack it, and bisect would open a dozen connections
		return b.begin, nil
	}
	if offset, ok := s.marks.find(slot); ok && b.begin <= offset && offset < b.end {
		return offset, nil
	}
	return s.bisect(ctx, slot, b.begin, b.end)
}

// bisect is locate by binary search between two offsets. At most Config.MaxReplays searches run at
// one time, because each reads the log a dozen times. A further one waits up to
// Config.replayPatience, then returns errReplays.
func (s *Server) bisect(ctx context.Context, slot uint64, begin, end int64) (int64, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, s.cfg.replayPatience, errReplays)
	defer cancel()
	if err := s.locating.Acquire(waiting, 1); err != nil {
		return 0, context.Cause(waiting)
	}
	defer s.locating.Release(1)
	return s.search(ctx, slot, begin, end)
}

// search is bisect without a bound.
func (s *Server) search(ctx context.Context, slot uint64, begin, end int64) (int64, error) {
	// The search compares tips, which never fall, with one exception: a writer that was killed
	// writes its last slots again. Then the search may find the first copy of a slot or the second
	// one. Both are right: the second copy is whole, and the later slots lie behind it.
	for begin < end {
		middle := begin + (end-begin)/2
		r, err := s.recordAt(ctx, middle)
		if err != nil {
			return 0, err
		}
		if tipOf(&r) >= slot {
			end = middle
		} else {
			begin = max(middle, r.Offset) + 1
		}
	}
	return begin, nil
}
