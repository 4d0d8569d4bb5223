package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// slotLog reads the slot ledger that earlier runs wrote to Kafka.
type slotLog struct {
	brokers []string
	admin   *kafka.Admin
	deps    kafka.Deps
}

// ReadSlots visits the slot records from the topic's first to the one that was last when the call began.
func (l *slotLog) ReadSlots(ctx context.Context, visit func(*eventspb.SlotRecord)) error {
	log := topicLog{brokers: l.brokers, admin: l.admin, deps: l.deps, name: "ledger"}
	err := log.read(ctx, []string{schemas.TopicSlots}, func(record *kafka.Record) {
		if string(record.Key) == schemas.SourceStatusKey {
			return
		}
		slot := new(eventspb.SlotRecord)
		if proto.Unmarshal(record.Value, slot) == nil { // what is none became a dead letter in the projector
			visit(slot)
		}
	})
	if err != nil {
		return fmt.Errorf("read slot ledger: %w", err)
	}
	return nil
}

// topicLog reads topics from their beginning to where they end when the reading begins.
type topicLog struct {
	brokers []string
	admin   *kafka.Admin
	deps    kafka.Deps
	// name is the reader's label in metrics.
	name string
}

// read visits the records, those of one partition in order. A record is the visitor's for the call only.
func (l *topicLog) read(ctx context.Context, topics []string, visit func(*kafka.Record)) error {
	ends, err := l.admin.EndOffsets(ctx, topics)
	if err != nil {
		return err
	}
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

// covers says that every partition was read up to its end.
func covers(reached, ends map[kafka.TopicPartition]int64) bool {
	for partition, end := range ends {
		if reached[partition] < end {
			return false
		}
	}
	return true
}
