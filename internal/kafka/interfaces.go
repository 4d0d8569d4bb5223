package kafka

import (
	"context"
	"time"
)

// TailReader is the part of Tailer that rooms use: see Tailer.FetchBatch. Tests replace it.
type TailReader interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]Record, error)
	Close()
}

// Ends returns where topics end: see Admin.EndOffsets.
type Ends interface {
	EndOffsets(ctx context.Context, topics []string) (map[TopicPartition]int64, error)
}

// Offsets returns where topics begin and end: see Admin.StartOffsets.
type Offsets interface {
	Ends
	StartOffsets(ctx context.Context, topics []string) (map[TopicPartition]int64, error)
}

// RecordProducer is the part of Producer that rooms use: see Producer.Produce. Produce returns nil
// only when all the records are durable. It retries transient errors itself, so an error other than
// the context's is final.
type RecordProducer interface {
	Produce(ctx context.Context, records ...Record) error
}

var (
	_ TailReader     = (*Tailer)(nil)
	_ Offsets        = (*Admin)(nil)
	_ RecordProducer = (*Producer)(nil)
)
