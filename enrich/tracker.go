package enrich

import (
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
)

// tracker knows which records of each partition are answered, and so how far each partition may be
// committed: records end in any order, offsets are committed in theirs.
type tracker struct {
	mu         sync.Mutex
	partitions map[kafka.TopicPartition]*partitionLog
}

type partitionLog struct {
	last    int64
	pending []*entry
}

type entry struct {
	record kafka.Record // without key, value and headers
	done   bool
}

func newTracker() *tracker {
	return &tracker{partitions: map[kafka.TopicPartition]*partitionLog{}}
}

// add begins a record. An offset that was seen before means that the partition went away and came
// back, and that reading began again at what was committed: what was pending then is pending again,
// and its earlier entries no longer count.
func (t *tracker) add(record *kafka.Record) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	tp := kafka.TopicPartition{Topic: record.Topic, Partition: record.Partition}
	log := t.partitions[tp]
	if log == nil || record.Offset <= log.last {
		log = &partitionLog{}
		t.partitions[tp] = log
	}
	added := &entry{record: kafka.Record{Topic: record.Topic, Partition: record.Partition, Offset: record.Offset, Time: record.Time}}
	log.last = record.Offset
	log.pending = append(log.pending, added)
	return added
}

func (t *tracker) complete(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.done = true
}

// take removes what is answered without a gap from the front of every partition, and returns the
// last such record of each.
func (t *tracker) take() []kafka.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	var records []kafka.Record
	for _, log := range t.partitions {
		n := 0
		for n < len(log.pending) && log.pending[n].done {
			n++
		}
		if n == 0 {
			continue
		}
		records = append(records, log.pending[n-1].record)
		clear(log.pending[:n])
		log.pending = log.pending[n:]
	}
	return records
}

// age is how long the oldest unanswered record has been on its topic; 0 when there is none.
func (t *tracker) age(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var oldest time.Duration
	for _, log := range t.partitions {
		for _, pending := range log.pending {
			if pending.done {
				continue
			}
			if at := pending.record.Time; !at.IsZero() {
				oldest = max(oldest, now.Sub(at))
			}
			break
		}
	}
	return oldest
}
