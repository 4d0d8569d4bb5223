package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// slotLog reads the slot ledger that other runs wrote to Kafka. It is for one goroutine.
type slotLog struct{ topic topicLog }

func (s *system) newSlotLog() *slotLog {
	return &slotLog{topicLog{brokers: s.backends.brokers, admin: s.admin, deps: s.kafka, name: "ledger", goOn: true}}
}

// ReadSlots visits the slot records after those that earlier calls have visited, at least up to the
// end that the topic has when this call begins.
func (l *slotLog) ReadSlots(ctx context.Context, visit func(*eventspb.SlotRecord)) error {
	return readSlots(ctx, &l.topic, visit)
}

// recordLog reads topics from their beginning to their end. A record is valid only during the call
// of visit.
type recordLog interface {
	read(ctx context.Context, topics []string, visit func(*kafka.Record)) error
	// records returns how many records the topics have.
	records(ctx context.Context, topics []string) (int64, error)
}

// readSlots visits the slot ledger of a log.
func readSlots(ctx context.Context, log recordLog, visit func(*eventspb.SlotRecord)) error {
	err := log.read(ctx, []string{schemas.TopicSlots}, func(record *kafka.Record) {
		if string(record.Key) == schemas.SourceStatusKey {
			return
		}
		slot := new(eventspb.SlotRecord)
		// The projector has made a dead letter of a record that is malformed.
		if proto.Unmarshal(record.Value, slot) == nil {
			visit(slot)
		}
	})
	if err != nil {
		return fmt.Errorf("read slot ledger: %w", err)
	}
	return nil
}

// topicLog reads topics from their beginning to the end that they have when the reading begins.
type topicLog struct {
	brokers []string
	admin   *kafka.Admin
	deps    kafka.Deps
	// name is the reader's label in metrics.
	name string
	// goOn makes each read begin where the last one stopped, which reached remembers.
	goOn    bool
	reached map[kafka.TopicPartition]int64
}

// read visits the records, those of one partition in order. It may also visit some that were
// written after it began. A record is valid only during the call of visit.
func (l *topicLog) read(ctx context.Context, topics []string, visit func(*kafka.Record)) error {
	ends, err := l.admin.EndOffsets(ctx, topics)
	if err != nil {
		return err
	}
	starts, err := l.admin.StartOffsets(ctx, topics)
	if err != nil {
		return err
	}
	for partition, offset := range l.reached {
		starts[partition] = max(starts[partition], offset)
	}
	if covers(starts, ends) {
		return nil
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: l.brokers, Topics: topics, Start: starts, Name: l.name}, l.deps)
	if err != nil {
		return err
	}
	defer tailer.Close()
	reached := starts
	defer func() {
		if l.goOn {
			l.reached = reached
		}
	}()
	for ; !covers(reached, ends); reached = tailer.Positions() {
		records, err := tailer.FetchBatch(ctx, 10_000, 10*time.Millisecond)
		if err != nil {
			return err
		}
		for i := range records {
			visit(&records[i])
		}
	}
	return nil
}

func (l *topicLog) records(ctx context.Context, topics []string) (int64, error) {
	starts, err := l.admin.StartOffsets(ctx, topics)
	if err != nil {
		return 0, err
	}
	ends, err := l.admin.EndOffsets(ctx, topics)
	if err != nil {
		return 0, err
	}
	return recordsBetween(starts, ends), nil
}

// recordsBetween returns how many records are between two offsets of each partition.
func recordsBetween(starts, ends map[kafka.TopicPartition]int64) (all int64) {
	for partition, end := range ends {
		all += max(0, end-starts[partition])
	}
	return all
}

// readTo visits the records below ends, in batches, from the first ones that the topics still have.
func (l *topicLog) readTo(ctx context.Context, topics []string, ends map[kafka.TopicPartition]int64, limit int, visit func([]kafka.Record) error) error {
	starts, err := l.admin.StartOffsets(ctx, topics)
	if err != nil {
		return err
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: l.brokers, Topics: topics, Start: starts, Name: l.name}, l.deps)
	if err != nil {
		return err
	}
	defer tailer.Close()
	for reached := starts; !covers(reached, ends); reached = tailer.Positions() {
		records, err := tailer.FetchBatch(ctx, limit, 100*time.Millisecond)
		if err != nil {
			return err
		}
		records = slices.DeleteFunc(records, func(r kafka.Record) bool {
			return r.Offset >= ends[kafka.TopicPartition{Topic: r.Topic, Partition: r.Partition}]
		})
		if len(records) == 0 {
			continue
		}
		if err := visit(records); err != nil {
			return err
		}
	}
	return nil
}

// covers reports whether every partition was read up to its end.
func covers(reached, ends map[kafka.TopicPartition]int64) bool {
	for partition, end := range ends {
		if reached[partition] < end {
			return false
		}
	}
	return true
}

// folderLog reads the topics of an embedded broker from its files, while the broker does not run.
// It writes nothing.
type folderLog struct{ log *kafkabroker.Log }

func (l *folderLog) read(ctx context.Context, topics []string, visit func(*kafka.Record)) error {
	return l.log.Read(ctx, topics, func(in *segments.Record) {
		record := kafka.Record{Topic: in.Topic, Partition: int(in.Partition), Offset: in.Offset, Key: in.Key, Value: in.Value, Time: in.Time}
		for _, h := range in.Headers {
			record.Headers = append(record.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		visit(&record)
	})
}

func (l *folderLog) records(_ context.Context, topics []string) (int64, error) {
	return l.log.Records(topics), nil
}
