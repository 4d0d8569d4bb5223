// Package bootstrap holds what the ways to fill an empty registry share: how a fact becomes a
// record, how progress is kept across a kill, and how it is reported.
//
// In: facts from elsewhere: accounts read over RPC (accounts), token lists (tokenlist), another
// node's snapshot (snapshot).
// Out: records of registry.enrichments.v1, so that Kafka stays the source of truth.
// Guarantees: progress is written after the records that it speaks of are acknowledged. A kill at
// any moment costs at most the part in hand, which is read again; a record that comes twice changes
// nothing.
package bootstrap

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Progress is how far a run is. Each run has its own unit of Done and Total (shards, tokens, rows).
// Total 0: not known.
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

// recordOf makes the record of an enrichment, whose mint must have 32 bytes. Its value is
// deterministic: equal facts give equal bytes. It has no received-at header, as it was not received
// from the chain just now: it must not count for freshness.
func recordOf(enrichment *eventspb.Enrichment) (kafka.Record, error) {
	kind, mint := kindOf(enrichment), pubkey.Key(enrichment.GetMint()).String()
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(enrichment)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode %s fact of %s: %w", kind, mint, err)
	}
	position := schemas.EndOfSlot(enrichment.GetSlot())
	return kafka.Record{
		Topic: schemas.TopicEnrichments,
		Key:   []byte(mint),
		Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte("enrichment." + kind)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderPosition, Value: fmt.Appendf(nil, "%016x%016x", position.Slot, position.Order)},
		},
	}, nil
}

// kindOf returns the second part of the record's type header.
func kindOf(enrichment *eventspb.Enrichment) string {
	switch enrichment.GetFact().(type) {
	case *eventspb.Enrichment_MintAccount:
		return "mint_account"
	case *eventspb.Enrichment_MetaplexAccount:
		return "metaplex_account"
	case *eventspb.Enrichment_TokenListEntry:
		return "token_list_entry"
	case *eventspb.Enrichment_Facts:
		return "facts"
	default:
		return "unknown"
	}
}

// Batch gathers records and writes them a batch at a time. It is for one goroutine.
type Batch struct {
	producer kafka.RecordProducer
	records  []kafka.Record
	bytes    int
	written  func(records int)
}

// A batch is written when it has this many records or bytes. That is large enough for thousands of
// records in each request, and small enough that several batches fit in memory.
const (
	batchRecords = 8_000
	batchBytes   = 8 << 20
)

// NewBatch returns an empty batch. written is called after each acknowledged write; it may be nil.
func NewBatch(producer kafka.RecordProducer, written func(records int)) *Batch {
	return &Batch{producer: producer, written: written}
}

// Add takes an enrichment, whose mint must have 32 bytes, and writes the batch when it is full.
func (b *Batch) Add(ctx context.Context, enrichment *eventspb.Enrichment) error {
	record, err := recordOf(enrichment)
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

// Len is how many records are not written yet.
func (b *Batch) Len() int { return len(b.records) }
