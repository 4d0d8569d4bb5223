// Package keystest gives tests the topic of API keys without a Kafka.
//
// In: records. Out: the collaborators of keys.Deps and keys.NewIssuer. Guarantees: one partition in
// memory, which any number of nodes may read. It can be made unavailable, like a broker that is
// away. It does not import package keys, whose tests use it.
package keystest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

var partition = kafka.TopicPartition{Topic: schemas.TopicGatewayKeys}

// ErrAway is returned by EndOffsets, Produce and FetchBatch while the topic is away.
var ErrAway = errors.New("kafka is away")

// Topic is the topic gateway.keys.v1.
type Topic struct {
	mu      sync.Mutex
	records []kafka.Record
	grown   chan struct{}
	away    bool
}

// New makes an empty topic.
func New() *Topic { return &Topic{grown: make(chan struct{})} }

// SetAway makes the topic unavailable, or available again.
func (t *Topic) SetAway(away bool) {
	t.mu.Lock()
	t.away = away
	t.mu.Unlock()
}

// Records returns all records.
func (t *Topic) Records() []kafka.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records[:len(t.records):len(t.records)]
}

// EndOffsets implements kafka.Ends.
func (t *Topic) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return nil, ErrAway
	}
	return map[kafka.TopicPartition]int64{partition: int64(len(t.records))}, nil
}

// Produce implements kafka.RecordProducer.
func (t *Topic) Produce(_ context.Context, records ...kafka.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return ErrAway
	}
	for _, r := range records {
		r.Offset = int64(len(t.records))
		t.records = append(t.records, r)
	}
	close(t.grown)
	t.grown = make(chan struct{})
	return nil
}

// Tail reads the topic from start on.
func (t *Topic) Tail(start map[kafka.TopicPartition]int64) *Tail {
	return &Tail{topic: t, at: start[partition]}
}

// Tail has the methods of kafka.Tailer that readers of the topic need.
type Tail struct {
	topic *Topic
	at    int64
}

// Close does nothing.
func (l *Tail) Close() {}

// Positions returns the offset after the last record that FetchBatch returned.
func (l *Tail) Positions() map[kafka.TopicPartition]int64 {
	return map[kafka.TopicPartition]int64{partition: l.at}
}

// FetchBatch waits for at least one record, and returns at most limit records. It fails with
// ErrAway while the topic is away.
func (l *Tail) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		l.topic.mu.Lock()
		records, grown, away := l.topic.records[l.at:], l.topic.grown, l.topic.away
		l.topic.mu.Unlock()
		if away {
			return nil, ErrAway
		}
		if len(records) > 0 {
			records = records[:min(limit, len(records))]
			l.at += int64(len(records))
			return records, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
