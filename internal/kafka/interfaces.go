package kafka

import (
	"context"
	"time"
)

// TailReader is what rooms use of a Tailer: see Tailer.FetchBatch. Tests give them others.
type TailReader interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]Record, error)
	Close()
}

// RecordProducer is what rooms use of a Producer. Produce returns nil only when all the records are
// durable. It repeats what may pass by itself, so an error other than the context's is final: see
// Producer.Produce.
type RecordProducer interface {
	Produce(ctx context.Context, records ...Record) error
}

var (
	_ TailReader     = (*Tailer)(nil)
	_ RecordProducer = (*Producer)(nil)
)
