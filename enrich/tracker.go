package enrich

import (
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
)

// tracker records which records of each partition are answered, and so up to which offset each
// partition may be committed. Records are answered in any order, but offsets are committed in
// order.
type tracker struct {
	mu         sync.Mutex
	partitions map[kafka.TopicPartition]*partitionLog
}

// partitionLog has the last offset that was read of a partition, and the records that take has not
// returned yet.
type partitionLog struct {
	last    int64
	pending []*entry
}

// entry is a record; done says whether it is answered.
type entry struct {
	record kafka.Record // without key, value and headers
	done   bool
}

func newTracker() *tracker {
	return &tracker{partitions: map[kafka.TopicPartition]*partitionLog{}}
}

// add adds a record that is not answered yet. If its offset was seen before, the partition was lost
// and assigned again, and reading began again at the committed offset. The earlier entries then no
// longer count.
func (t *tracker) add(record *kafka.Record) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	tp := record.TopicPartition()
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

// take removes the answered records at the front of every partition, up to the first unanswered
// one. For each partition, it returns the last record that it removed.
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

// age returns how long the oldest unanswered record has been on its topic; 0 if there is none.
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
