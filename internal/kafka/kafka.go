// Package kafka is the only code in Mintlake that talks to Kafka, be it a cluster or the embedded
// broker.
//
// In: records to write; groups and offsets to read from.
//
// Out: acknowledgements that mean durable, and records in the order of their partition.
//
// Guarantees: at least once. Produce returns nil only when every in-sync replica has every record;
// within one call two records of one key are never reordered. Only Commit moves the offsets of a
// group that has members, and never backwards, not even after a replay or from a member that has
// lost its partitions. (ForgetGroup and ResetGroup wait until the group has no members.) Transient
// errors (a broker restarts, a leader moves) are retried inside until the caller's context ends;
// each message is logged at most once in ten seconds, and producers and consumers count the errors.
// After a retry or a rebalance the same record may come twice, so whatever processes it must be
// idempotent.
//
// The client library (segmentio/kafka-go) is imported here and nowhere else, and only its request
// layer is used. Its Writer has three faults: after one batch of a call has failed for good, it
// reports the others in any order; it waits for a timer before it sends; it cannot be canceled. Its
// group Reader has two: it takes an error of OffsetFetch for "no offset", and it commits for
// partitions that another member owns.
package kafka

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Header is one entry of a record's headers.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a topic.
type Record struct {
	// Topic is required to produce.
	Topic string
	// Partition is set by the consumers, and begins at 0. Produce ignores it and chooses by Key.
	Partition int
	// Offset is the place in the partition. It is set by the consumers, and Produce ignores it.
	Offset int64
	// Key decides the partition: FNV-1a of the key modulo the number of partitions, as sarama and
	// kafka-go do (and Java's default partitioner does not). Nil or empty means any partition.
	Key []byte
	// Value is the payload. Nil is a tombstone, distinct from empty.
	Value []byte
	// Headers keep their order.
	Headers []Header
	// Time is the record's timestamp, in milliseconds on the wire. Leave it zero when you produce,
	// and the time of sending is used. Retention counts from it: with a block time here, a
	// backfilled record would expire at once.
	Time time.Time
}

// TopicPartition returns where the record was read.
func (r *Record) TopicPartition() TopicPartition { return TopicPartition{r.Topic, r.Partition} }

// Header returns the value of the last header with this key; nil if there is none.
func (r *Record) Header(key string) []byte {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if r.Headers[i].Key == key {
			return r.Headers[i].Value
		}
	}
	return nil
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int
}

// String returns topic/partition.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s/%d", tp.Topic, tp.Partition) }

// TopicSpec describes a topic for EnsureTopics.
type TopicSpec struct {
	// Name of the topic.
	Name string
	// Partitions is at least 1.
	Partitions int
	// ReplicationFactor is at least 1, and 1 on the embedded broker. An existing topic keeps its
	// own.
	ReplicationFactor int
	// Config are topic settings by their Kafka names. retention.ms and retention.bytes are
	// required: what a topic keeps is never left to a broker's default.
	Config map[string]string
}

// Deps are the collaborators of every client of this package.
type Deps struct {
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: then the metrics go nowhere. Several producers and consumers may share
	// one.
	Registerer prometheus.Registerer
	// Security encrypts and authenticates the connections. It may be nil: then they are plain text
	// without a login.
	Security *Security
}

func (d Deps) logger() *slog.Logger {
	if d.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Logger
}

var (
	// ErrClosed is returned by calls on something that was closed.
	ErrClosed = errors.New("kafka: closed")
	// ErrRecordTooLarge is returned for a record over ProducerConfig.maxRecordBytes. Then no record
	// of the call is sent.
	ErrRecordTooLarge = errors.New("kafka: record is too large")
	// ErrPartitionCount is returned by EnsureTopics for an existing topic with another number of
	// partitions. Partitions are never added silently: keys would move.
	ErrPartitionCount = errors.New("kafka: topic has another number of partitions")
	// ErrTopicSpec is returned by EnsureTopics for an incomplete or wrong specification.
	ErrTopicSpec = errors.New("kafka: topic specification")
)
