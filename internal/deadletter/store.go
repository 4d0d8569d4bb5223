package deadletter

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Errors of Replay.
var (
	ErrNoLetter = errors.New("there is no such dead letter; those older than 30 days are gone")
	ErrNoRecord = errors.New("it is about an input that was never a record: there is nothing to replay")
	ErrGone     = errors.New("retention took the record: its topic keeps it no longer")
	ErrOther    = errors.New("another record lies where the original did: the log was made anew or repaired")
)

// Letter is a dead letter as it was read from the topic. Its texts come from outside.
type Letter struct {
	At time.Time
	// Partition and Offset are those of the letter. Those of the record that it is about are in
	// DeadLetter.
	Partition int
	Offset    int64
	*eventspb.DeadLetter
	// Err is set if the record on the topic is no dead letter.
	Err error
}

// Store lists dead letters and replays the records that they are about.
type Store struct {
	// All fields are required. OpenTail opens a reader of the topics from the offsets start on.
	Offsets  kafka.Offsets
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	Producer kafka.RecordProducer
}

// List returns the dead letters that are on the topic now, oldest first. It returns at most last
// letters of each partition, the newest ones.
func (s *Store) List(ctx context.Context, last int64) ([]Letter, error) {
	first, ends, err := s.bounds(ctx, schemas.TopicDeadLetters)
	if err != nil {
		return nil, err
	}
	// left are the partitions whose end has not been read. most is the greatest number of records
	// that can come. It may be fewer: a repair of the log puts one record in the place of many.
	start, left, most := map[kafka.TopicPartition]int64{}, map[kafka.TopicPartition]bool{}, int64(0)
	for tp, end := range ends {
		if start[tp] = max(first[tp], end-last); start[tp] < end {
			left[tp] = true
			most += end - start[tp]
		}
	}
	letters := []Letter{}
	err = s.read(ctx, schemas.TopicDeadLetters, start, func(record *kafka.Record) (more bool) {
		tp := record.TopicPartition()
		if record.Offset < ends[tp] {
			letters = append(letters, letterOf(record))
		}
		if record.Offset+1 >= ends[tp] {
			delete(left, tp)
		}
		return len(left) > 0
	}, most)
	return letters, err
}

func letterOf(record *kafka.Record) Letter {
	l := Letter{At: record.Time, Partition: record.Partition, Offset: record.Offset, DeadLetter: new(eventspb.DeadLetter)}
	l.Err = proto.Unmarshal(record.Value, l.DeadLetter)
	return l
}

// bounds returns the first offset and the end offset of each partition of the topic.
func (s *Store) bounds(ctx context.Context, topic string) (first, ends map[kafka.TopicPartition]int64, err error) {
	if first, ends, err = kafka.Bounds(ctx, s.Offsets, topic); err != nil {
		return nil, nil, fmt.Errorf("dead letters: where %s begins and ends: %w", topic, err)
	}
	return first, ends, nil
}

// read calls see with each record from start on, until see returns false. count is how many records
// the caller expects at most. If it is 0, read returns without waiting for a record.
func (s *Store) read(ctx context.Context, topic string, start map[kafka.TopicPartition]int64, see func(*kafka.Record) (more bool), count int64) error {
	if count <= 0 {
		return nil
	}
	tail, err := s.OpenTail([]string{topic}, start)
	if err != nil {
		return fmt.Errorf("dead letters: read %s: %w", topic, err)
	}
	defer tail.Close()
	for {
		records, err := tail.FetchBatch(ctx, int(min(count, 1000)), 100*time.Millisecond)
		if err != nil {
			return fmt.Errorf("dead letters: read %s: %w", topic, err)
		}
		for i := range records {
			if !see(&records[i]) {
				return nil
			}
		}
	}
}

// recordAt reads the record at an offset. It returns ErrGone if the topic does not have it any
// more.
func (s *Store) recordAt(ctx context.Context, at kafka.TopicPartition, offset int64) (found *kafka.Record, err error) {
	first, ends, err := s.bounds(ctx, at.Topic)
	if err != nil {
		return nil, err
	}
	if end, known := ends[at]; !known || offset >= end || offset < first[at] {
		return nil, ErrGone
	}
	start := ends // skips the records that other partitions have now
	start[at] = offset
	err = s.read(ctx, at.Topic, start, func(record *kafka.Record) bool {
		if record.Partition != at.Partition {
			return true // it was written to another partition since
		}
		if record.Offset == offset { // a later offset shows that the record is gone
			found = record
		}
		return false
	}, 1)
	if err == nil && found == nil {
		err = ErrGone
	}
	return found, err
}

// Replay reads the record that a dead letter is about, and appends it to its topic again with its
// key and headers. Rooms read it like any other record; what they stored when they read it first
// does not change. The letter is returned if it could be read, also with an error.
func (s *Store) Replay(ctx context.Context, partition int, offset int64) (*Letter, error) {
	record, err := s.recordAt(ctx, kafka.TopicPartition{Topic: schemas.TopicDeadLetters, Partition: partition}, offset)
	if errors.Is(err, ErrGone) {
		return nil, ErrNoLetter
	}
	if err != nil {
		return nil, err
	}
	letter := letterOf(record)
	topics := schemas.Topics()
	known := slices.ContainsFunc(topics, func(t schemas.Topic) bool { return t.Name == letter.GetTopic() })
	if letter.Err != nil || !known || letter.GetOffset() < 0 {
		return &letter, ErrNoRecord
	}
	original, err := s.recordAt(ctx, kafka.TopicPartition{Topic: letter.GetTopic(), Partition: int(letter.GetPartition())}, letter.GetOffset())
	if err != nil {
		return &letter, err
	}
	if hash := sha256.Sum256(original.Value); !slices.Equal(hash[:], letter.GetValueSha256()) {
		return &letter, ErrOther
	}
	err = s.Producer.Produce(ctx, kafka.Record{Topic: original.Topic, Key: original.Key, Value: original.Value, Headers: original.Headers})
	if err != nil {
		return &letter, fmt.Errorf("dead letters: write the record again: %w", err)
	}
	return &letter, nil
}
