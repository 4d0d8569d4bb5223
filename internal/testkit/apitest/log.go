// Package apitest replaces Kafka and ClickHouse in the API's tests.
//
// In: records and outages as a test wants them. Out: what internal/kafka's Admin, Tailer and
// Producer give. Guarantees: everything is in memory; a call made while the log is down waits until
// it is up again, and fails when its context ends, as internal/kafka's do.
package apitest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Log is a small Kafka in memory, with all topics of schemas.Topics.
type Log struct {
	mu        sync.Mutex
	changed   chan struct{}
	records   map[kafka.TopicPartition][]kafka.Record
	starts    map[kafka.TopicPartition]int64
	committed map[string]map[kafka.TopicPartition]int64
	down      bool
	missing   []string
}

// NewLog returns an empty log.
func NewLog() *Log {
	l := &Log{
		changed: make(chan struct{}), records: map[kafka.TopicPartition][]kafka.Record{}, starts: map[kafka.TopicPartition]int64{},
		committed: map[string]map[kafka.TopicPartition]int64{},
	}
	for _, topic := range schemas.Topics() {
		for p := range topic.Partitions {
			l.records[kafka.TopicPartition{Topic: topic.Name, Partition: p}] = nil
		}
	}
	return l
}

// update changes the log and wakes all who wait for that.
func (l *Log) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

// SetDown begins or ends an outage.
func (l *Log) SetDown(down bool) { l.update(func() { l.down = down }) }

// SetStart expires the records of a partition below offset.
func (l *Log) SetStart(tp kafka.TopicPartition, offset int64) {
	l.update(func() { l.starts[tp] = offset })
}

// Commit sets a group's offset.
func (l *Log) Commit(group string, tp kafka.TopicPartition, offset int64) {
	l.update(func() {
		if l.committed[group] == nil {
			l.committed[group] = map[kafka.TopicPartition]int64{}
		}
		l.committed[group][tp] = offset
	})
}

// CommitAll commits the ends of topics.
func (l *Log) CommitAll(group string, topics ...string) {
	l.mu.Lock()
	ends := l.ends(topics)
	l.mu.Unlock()
	for tp, end := range ends {
		l.Commit(group, tp, end)
	}
}

// Append adds a record to the partition of its key and returns its place.
func (l *Log) Append(record kafka.Record) (tp kafka.TopicPartition, offset int64) {
	l.update(func() { tp, offset = l.append(record) })
	return tp, offset
}

func (l *Log) append(record kafka.Record) (kafka.TopicPartition, int64) {
	count := 0
	for tp := range l.records {
		if tp.Topic == record.Topic {
			count++
		}
	}
	tp := kafka.TopicPartition{Topic: record.Topic, Partition: kafka.PartitionOf(record.Key, count)}
	record.Partition, record.Offset = tp.Partition, int64(len(l.records[tp]))
	l.records[tp] = append(l.records[tp], record)
	return tp, record.Offset
}

// Message appends a protobuf message, with the time that it was received.
func (l *Log) Message(topic, key string, message proto.Message, received time.Time) (kafka.TopicPartition, int64) {
	value, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return l.Append(kafka.Record{Topic: topic, Key: []byte(key), Value: value, Headers: []kafka.Header{
		{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, received.UnixMilli(), 10)},
	}})
}

// Records returns all records of a topic.
func (l *Log) Records(topic string) []kafka.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var records []kafka.Record
	for tp, list := range l.records {
		if tp.Topic == topic {
			records = append(records, list...)
		}
	}
	return records
}

// wait waits while the log is down. It returns ctx's error if ctx ends.
func (l *Log) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		down, changed := l.down, l.changed
		l.mu.Unlock()
		if err := ctx.Err(); err != nil || !down {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Produce implements kafka.RecordProducer.
func (l *Log) Produce(ctx context.Context, records ...kafka.Record) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	for _, record := range records {
		l.Append(record)
	}
	return nil
}

func (l *Log) ends(topics []string) map[kafka.TopicPartition]int64 {
	return l.each(topics, func(tp kafka.TopicPartition) int64 { return int64(len(l.records[tp])) })
}

// each returns what offset returns for each partition of topics. The caller holds mu.
func (l *Log) each(topics []string, offset func(tp kafka.TopicPartition) int64) map[kafka.TopicPartition]int64 {
	out := map[kafka.TopicPartition]int64{}
	for tp := range l.records {
		for _, topic := range topics {
			if tp.Topic == topic {
				out[tp] = offset(tp)
			}
		}
	}
	return out
}

// StartOffsets implements replica.Offsets.
func (l *Log) StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.each(topics, func(tp kafka.TopicPartition) int64 { return l.starts[tp] }), nil
}

// EndOffsets implements replica.Offsets.
func (l *Log) EndOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends(topics), nil
}

// CommittedOffsets implements replica.Offsets.
func (l *Log) CommittedOffsets(ctx context.Context, group string, topics []string) (map[kafka.TopicPartition]int64, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[kafka.TopicPartition]int64{}
	for tp := range l.each(topics, func(kafka.TopicPartition) int64 { return 0 }) {
		if offset, ok := l.committed[group][tp]; ok {
			out[tp] = offset
		}
	}
	return out, nil
}

// SetMissing makes MissingTopics report these topics. Without topics it reports none any more.
func (l *Log) SetMissing(topics ...string) { l.update(func() { l.missing = topics }) }

// MissingTopics implements status.Topics.
func (l *Log) MissingTopics(ctx context.Context, topics []string) ([]string, error) {
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var missing []string
	for _, topic := range topics {
		if slices.Contains(l.missing, topic) {
			missing = append(missing, topic)
		}
	}
	return missing, nil
}

// Tail reads topics from the offsets in start on, or from the first record that a partition still
// has.
func (l *Log) Tail(topics []string, start map[kafka.TopicPartition]int64) *Tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.each(topics, func(tp kafka.TopicPartition) int64 { return max(start[tp], l.starts[tp]) })
	return &Tail{log: l, at: at, started: maps.Clone(at)}
}

// Tail implements kafka.TailReader.
type Tail struct {
	log     *Log
	at      map[kafka.TopicPartition]int64
	started map[kafka.TopicPartition]int64
}

// Started returns where the tail began.
func (t *Tail) Started() map[kafka.TopicPartition]int64 { return t.started }

// Close does nothing.
func (t *Tail) Close() {}

// FetchBatch implements kafka.TailReader.
func (t *Tail) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		if err := t.log.wait(ctx); err != nil {
			return nil, err
		}
		t.log.mu.Lock()
		var batch []kafka.Record
		for tp, offset := range t.at {
			n := min(int64(len(t.log.records[tp]))-offset, int64(limit-len(batch)))
			if n > 0 {
				batch = append(batch, t.log.records[tp][offset:offset+n]...)
				t.at[tp] += n
			}
		}
		changed := t.log.changed
		t.log.mu.Unlock()
		if len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Snapshot is a replica.Snapshot in memory. Loads fail as often as Fail says, then succeed.
type Snapshot struct {
	Facts    map[pubkey.Key][]registry.Fact
	mu       sync.Mutex
	failures int
	loads    int
}

// Fail makes the next n loads fail.
func (s *Snapshot) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = n
}

// Loads counts the loads, failed ones included.
func (s *Snapshot) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// Set replaces the facts of a mint.
func (s *Snapshot) Set(mint pubkey.Key, facts []registry.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Facts == nil {
		s.Facts = map[pubkey.Key][]registry.Fact{}
	}
	s.Facts[mint] = facts
}

// Load implements replica.Snapshot.
func (s *Snapshot) Load(_ context.Context, mints []pubkey.Key, each func(mint pubkey.Key, facts []registry.Fact)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	if s.failures > 0 {
		s.failures--
		return errors.New("clickhouse is away")
	}
	for mint, facts := range s.Facts {
		if mints == nil || slices.Contains(mints, mint) {
			each(mint, facts)
		}
	}
	return nil
}

// Mint returns the i-th test mint's key.
func Mint(i int) []byte {
	key := make([]byte, 32)
	copy(key, fmt.Sprintf("mint %06d", i))
	key[31] = 1
	return key
}
