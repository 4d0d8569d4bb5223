// Package eventlog reads the log of events from its beginning to its end, for commands and checks.
//
// In: topics of Kafka, or the files of the embedded broker. Out: records, those of one partition in
// order. Guarantees: a reading ends; it commits nothing and writes nothing.
package eventlog

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Log reads topics from their beginning to their end.
type Log interface {
	// Read visits the records. A record is valid only during the call of visit.
	Read(ctx context.Context, topics []string, visit func(*kafka.Record)) error
	// Records returns how many records the topics have.
	Records(ctx context.Context, topics []string) (int64, error)
}

// ReadSlots visits the slot ledger of a log.
func ReadSlots(ctx context.Context, log Log, visit func(*eventspb.SlotRecord)) error {
	err := log.Read(ctx, []string{schemas.TopicSlots}, func(record *kafka.Record) {
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
