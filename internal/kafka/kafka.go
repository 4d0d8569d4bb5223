// Package kafka is Mintlake's only way to Kafka, whether that is a cluster or the embedded broker.
//
// In: records to write; groups and offsets to read from.
// Out: acknowledgements that mean durable, and records in the order of their partition.
// Guarantees: at least once. Produce returns nil only when every in-sync replica has every record;
// within one call two records of one key are never reordered. A group consumer's offsets move only
// by Commit, and never backwards, neither by a replay nor by a member that lost its partitions.
// Errors that pass (a broker that restarts, a leader that moves) are retried inside until the
// caller's context ends, counted, and logged at most once in ten seconds. After a retry or a
// rebalance the same record may come twice: what is done with it must be idempotent.
//
// The client library (segmentio/kafka-go) is imported here and nowhere else, and only its request
// layer is used. Its Writer answers a call's batches in any order once one of them was given up,
// waits for a timer before it sends, and cannot be cancelled; its group Reader takes an error of
// OffsetFetch for "no offset" and commits for partitions that another member owns.
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
	// Partition, from 0. Set by the consumers; ignored by Produce, which chooses by Key.
	Partition int
	// Offset in the partition. Set by the consumers; ignored by Produce.
	Offset int64
	// Key decides the partition: FNV-1a of the key modulo the number of partitions, as sarama and
	// kafka-go do (and Java's default partitioner does not). Nil or empty means any partition.
	Key []byte
	// Value is the payload. Nil is a tombstone, distinct from empty.
	Value []byte
	// Headers keep their order.
	Headers []Header
	// Time is the record's timestamp, in milliseconds on the wire. Leave it zero to produce:
	// retention counts from it, so a block time here would expire a backfilled record at once.
	Time time.Time
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int
}

// String is "topic/partition".
func (tp TopicPartition) String() string { return fmt.Sprintf("%s/%d", tp.Topic, tp.Partition) }

// TopicSpec is what EnsureTopics makes true.
type TopicSpec struct {
	// Name of the topic.
	Name string
	// Partitions, at least 1.
	Partitions int
	// ReplicationFactor, at least 1; 1 on the embedded broker. Only used to create.
	ReplicationFactor int
	// Config are topic settings by their Kafka names. retention.ms and retention.bytes are
	// required: what a topic keeps is never left to a broker's default.
	Config map[string]string
}

// Deps are the collaborators of everything in this package.
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
	// ErrRecordTooLarge is returned for a record over ProducerConfig.MaxRecordBytes; nothing of the
	// call is sent.
	ErrRecordTooLarge = errors.New("kafka: record is too large")
	// ErrPartitionCount is returned by EnsureTopics for an existing topic with another number of
	// partitions. Partitions are never added silently: keys would move.
	ErrPartitionCount = errors.New("kafka: topic has another number of partitions")
	// ErrTopicSpec is returned by EnsureTopics for a specification that cannot be right.
	ErrTopicSpec = errors.New("kafka: topic specification")
)
