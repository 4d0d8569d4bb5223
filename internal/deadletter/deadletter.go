// Package deadletter makes the records of registry.dead-letters.v1, the same in every room.
//
// In: a record or an input that cannot be processed, and why. Out: a record that names it.
// Guarantees: a dead letter always fits into a Kafka record, whatever the size of what it is about.
// A room that writes what comes from outside writes through a Writer: then a record that is too
// large for Kafka becomes a dead letter and does not end the room.
package deadletter

import (
	"crypto/sha256"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// What is kept of a record, in bytes. A request for enrichment has some hundred, an event rarely
// more than a thousand: both are whole.
const (
	MaxValue  = 64 << 10
	MaxKey    = 1 << 10
	MaxReason = 1 << 10
	maxTopic  = 249 // Kafka's own
)

// Of is the dead letter of a record that came from Kafka. source is the room that gives up. Headers
// are added to those that every dead letter has. The record's own headers are not kept.
func Of(source, reason string, record *kafka.Record, headers ...kafka.Header) kafka.Record {
	hash := sha256.Sum256(record.Value)
	return encode(&eventspb.DeadLetter{
		Source: source, Reason: text(reason, MaxReason),
		Topic: text(record.Topic, maxTopic), Partition: int32(record.Partition), Offset: record.Offset,
		Key: cut(record.Key, MaxKey), KeyBytes: uint64(len(record.Key)),
		Value: cut(record.Value, MaxValue), ValueBytes: uint64(len(record.Value)), ValueSha256: hash[:],
	}, headers)
}

// OfInput is the dead letter of an input that is no record: a file, a block. name says which.
func OfInput(source, reason, name string, headers ...kafka.Header) kafka.Record {
	return encode(&eventspb.DeadLetter{
		Source: source, Reason: text(reason, MaxReason), Key: []byte(text(name, MaxKey)), KeyBytes: uint64(len(name)),
	}, headers)
}

func encode(letter *eventspb.DeadLetter, headers []kafka.Header) kafka.Record {
	// All texts are valid UTF-8, which is all that could make it fail.
	value, _ := proto.MarshalOptions{Deterministic: true}.Marshal(letter)
	return kafka.Record{
		Topic: schemas.TopicDeadLetters,
		Key:   []byte(letter.GetSource()),
		Value: value,
		Headers: append([]kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(schemas.TypeDeadLetter)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		}, headers...),
	}
}

func cut(b []byte, limit int) []byte { return b[:min(len(b), limit)] }

// text makes s valid UTF-8 of at most limit bytes.
func text(s string, limit int) string {
	s = strings.ToValidUTF8(s[:min(len(s), limit)], "?")
	return s[:min(len(s), limit)]
}
