package logos

import (
	"context"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// topic is the enrichments, kept over restarts of the machine.
type topic struct {
	mu       sync.Mutex
	records  []kafka.Record
	requests []kafka.Record // of the other topic
	arrived  chan struct{}
	// fail, when not nil, answers Produce.
	fail func() error
}

func newTopic() *topic { return &topic{arrived: make(chan struct{})} }

func (t *topic) Produce(ctx context.Context, records ...kafka.Record) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fail != nil {
		if err := t.fail(); err != nil {
			return err
		}
	}
	for _, record := range records {
		if record.Topic == schemas.TopicEnrichmentRequests {
			t.requests = append(t.requests, record)
			continue
		}
		record.Offset = int64(len(t.records))
		t.records = append(t.records, record)
	}
	close(t.arrived)
	t.arrived = make(chan struct{})
	return nil
}

func (t *topic) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return map[kafka.TopicPartition]int64{{Topic: schemas.TopicEnrichments}: int64(len(t.records))}, nil
}

type reader struct {
	t    *topic
	next int
}

func (r *reader) Close() {}

func (r *reader) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		r.t.mu.Lock()
		records := r.t.records[r.next:min(len(r.t.records), r.next+limit)]
		arrived := r.t.arrived
		r.t.mu.Unlock()
		if len(records) > 0 {
			r.next += len(records)
			return records, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-arrived:
		}
	}
}
