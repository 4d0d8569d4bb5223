// Package deadletter makes the records of registry.dead-letters.v1, in one form for all rooms.
//
// In: a record or an input that cannot be processed, and the reason. Out: a record that says what
// it was. Guarantees: a dead letter always fits into a Kafka record, however large the record or
// input was. A room that writes input from outside writes through a Writer: a record that is too
// large for Kafka then becomes a dead letter and does not end the room.
package deadletter

import (
	"crypto/sha256"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// How many bytes a dead letter keeps of a record and its reason. Requests for enrichment have some
// hundred bytes and events rarely more than a thousand, so both are kept whole.
const (
	MaxValue  = 64 << 10
	MaxKey    = 1 << 10
	MaxReason = 1 << 10
	maxTopic  = 249 // Kafka's limit of a topic's name
)

// Of returns the dead letter of a record that came from Kafka. source is the room that could not
// process it. headers are added to those that every dead letter has. The record's own headers are
// not kept.
func Of(source, reason string, record *kafka.Record, headers ...kafka.Header) kafka.Record {
	hash := sha256.Sum256(record.Value)
	return encode(&eventspb.DeadLetter{
		Source: source, Reason: text(reason, MaxReason),
		Topic: text(record.Topic, maxTopic), Partition: int32(record.Partition), Offset: record.Offset,
		Key: cut(record.Key, MaxKey), KeyBytes: uint64(len(record.Key)),
		Value: cut(record.Value, MaxValue), ValueBytes: uint64(len(record.Value)), ValueSha256: hash[:],
	}, headers)
}

// OfInput returns the dead letter of an input that is no record, such as a file or a block. name
// names it.
func OfInput(source, reason, name string, headers ...kafka.Header) kafka.Record {
	return encode(&eventspb.DeadLetter{
		Source: source, Reason: text(reason, MaxReason), Key: []byte(text(name, MaxKey)), KeyBytes: uint64(len(name)),
	}, headers)
}

// OfBytes returns the dead letter of a part of an input, such as a transaction of a block. name
// names it, and value is the part as it came.
func OfBytes(source, reason, name string, value []byte, headers ...kafka.Header) kafka.Record {
	hash := sha256.Sum256(value)
	return encode(&eventspb.DeadLetter{
		Source: source, Reason: text(reason, MaxReason), Key: []byte(text(name, MaxKey)), KeyBytes: uint64(len(name)),
		Value: cut(value, MaxValue), ValueBytes: uint64(len(value)), ValueSha256: hash[:],
	}, headers)
}

func encode(letter *eventspb.DeadLetter, headers []kafka.Header) kafka.Record {
	// Marshal fails only for a text that is not valid UTF-8, and all texts here are valid.
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

// text returns the first limit bytes of s, with a ? for each part that is not valid UTF-8.
func text(s string, limit int) string {
	return strings.ToValidUTF8(s[:min(len(s), limit)], "?")
}
