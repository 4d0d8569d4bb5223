// Package bootstrap holds what the ways to fill an empty registry share: how a fact becomes a
// record, how progress is kept across a kill, and how it is reported.
//
// In: facts from elsewhere: accounts read over RPC (accounts), token lists (tokenlist), another
// node's snapshot (snapshot), a validator's snapshot (validator).
// Out: records of registry.enrichments.v1, so that Kafka stays the source of truth.
// Guarantees: progress is written after the records that it counts as done are acknowledged. A kill
// at any moment costs at most the part that was being read, which is read again; a record that
// comes twice changes nothing.
package bootstrap

import (
	"context"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Progress is how far a run is. Each kind of run has its own unit of Done and Total (shards,
// tokens, rows). Total is 0 if it is not known.
type Progress struct {
	Done  int64
	Total int64
	// Items counts what was read: accounts, entries, facts. Records counts what Kafka acknowledged.
	Items   int64
	Records int64
	// Retries counts requests that failed and were made again.
	Retries int64
	// Note is what is being done now, for people.
	Note string
}

// Batch gathers records and writes them a batch at a time. It is for one goroutine.
type Batch struct {
	producer kafka.RecordProducer
	records  []kafka.Record
	bytes    int
	written  func(records int)
}

// A batch is written when it has batchRecords records or batchBytes bytes. That is large enough for
// thousands of records in each request, and small enough that several batches fit in memory.
const (
	batchRecords = 8_000
	batchBytes   = 8 << 20
)

// NewBatch returns an empty batch. written is called after each acknowledged write; it may be nil.
func NewBatch(producer kafka.RecordProducer, written func(records int)) *Batch {
	return &Batch{producer: producer, written: written}
}

// Add adds a fact, whose mint must have 32 bytes, and writes the batch when it is full. The record
// has no time of receipt: what a bootstrap reads must not count for freshness.
func (b *Batch) Add(ctx context.Context, fact *eventspb.Enrichment) error {
	record, err := factrecord.Record(fact, time.Time{})
	if err != nil {
		return err
	}
	b.records = append(b.records, record)
	b.bytes += len(record.Key) + len(record.Value)
	if len(b.records) < batchRecords && b.bytes < batchBytes {
		return nil
	}
	return b.Flush(ctx)
}

// Flush writes what the batch holds. After it returns nil every enrichment added so far is durable.
func (b *Batch) Flush(ctx context.Context) error {
	if len(b.records) == 0 {
		return nil
	}
	if err := b.producer.Produce(ctx, b.records...); err != nil {
		return fmt.Errorf("write enrichments: %w", err)
	}
	if b.written != nil {
		b.written(len(b.records))
	}
	clear(b.records) // not after an error: the producer may still hold them
	b.records, b.bytes = b.records[:0], 0
	return nil
}

// Len returns how many records are not written yet.
func (b *Batch) Len() int { return len(b.records) }
