package eventlog

import (
	"context"
	"maps"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Kafka is the access to a Kafka cluster whose topics are read.
type Kafka struct {
	Brokers []string
	Admin   *kafka.Admin
	Deps    kafka.Deps
}

// Topics returns a reader of topics. name is its label in metrics.
func (k Kafka) Topics(name string) *Topics { return &Topics{Kafka: k, Name: name} }

// Bounds returns, by partition, the offset of the topics' first record and the offset behind the
// last one.
func (k Kafka) Bounds(ctx context.Context, topics ...string) (starts, ends map[kafka.TopicPartition]int64, err error) {
	return kafka.Bounds(ctx, k.Admin, topics...)
}

// Slots reads the slot ledger. Each reading goes on where the last one stopped. It is for one
// goroutine.
type Slots struct{ topics *Topics }

// Slots returns a reader of the slot ledger.
func (k Kafka) Slots() *Slots {
	return &Slots{&Topics{Kafka: k, Name: "ledger", resume: true}}
}

// ReadSlots visits the slot records after those that earlier calls have visited, at least up to the
// end that the topic has when this call begins.
func (s *Slots) ReadSlots(ctx context.Context, visit func(*eventspb.SlotRecord)) error {
	return ReadSlots(ctx, s.topics, visit)
}

// Topics reads topics from their beginning to the end that they have when the reading begins.
type Topics struct {
	Kafka

	// Name is the reader's label in metrics.
	Name string
	// resume makes each read begin where the last one stopped. reached has the offsets of that
	// place.
	resume  bool
	reached map[kafka.TopicPartition]int64
}

// Read visits the records, those of one partition in order. It may also visit some that were
// written after it began. A record is valid only during the call of visit.
func (l *Topics) Read(ctx context.Context, topics []string, visit func(*kafka.Record)) error {
	at, ends, err := l.Bounds(ctx, topics...)
	if err != nil {
		return err
	}
	for partition, offset := range l.reached {
		at[partition] = max(at[partition], offset)
	}
	if kafka.Covers(at, ends) {
		return nil
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: l.Brokers, Topics: topics, Start: maps.Clone(at), Name: l.Name}, l.Deps)
	if err != nil {
		return err
	}
	defer tailer.Close()
	if l.resume {
		// kafka.ReadTo moves at behind the records that it has visited, and so reached.
		l.reached = at
	}
	return kafka.ReadTo(ctx, tailer, at, ends, 10_000, func(records []kafka.Record) error {
		for i := range records {
			visit(&records[i])
		}
		return nil
	})
}

// Records implements Log.
func (l *Topics) Records(ctx context.Context, topics []string) (int64, error) {
	starts, ends, err := l.Bounds(ctx, topics...)
	return RecordsBetween(starts, ends), err
}

// RecordsBetween returns how many records are between two offsets of each partition.
func RecordsBetween(starts, ends map[kafka.TopicPartition]int64) (all int64) {
	for partition, end := range ends {
		all += max(0, end-starts[partition])
	}
	return all
}

// ReadTo visits the records below the offsets ends, from the first ones that the topics still have,
// in batches of at most limit records.
func (l *Topics) ReadTo(ctx context.Context, topics []string, ends map[kafka.TopicPartition]int64, limit int, visit func([]kafka.Record) error) error {
	at, err := l.Admin.StartOffsets(ctx, topics)
	if err != nil {
		return err
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: l.Brokers, Topics: topics, Start: maps.Clone(at), Name: l.Name}, l.Deps)
	if err != nil {
		return err
	}
	defer tailer.Close()
	return kafka.ReadTo(ctx, tailer, at, ends, limit, func(records []kafka.Record) error {
		below := make([]kafka.Record, 0, len(records))
		for _, r := range records {
			if r.Offset < ends[r.TopicPartition()] {
				below = append(below, r)
			}
		}
		if len(below) == 0 {
			return nil
		}
		return visit(below)
	})
}
