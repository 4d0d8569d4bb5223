package unknowns

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	// writeEvery is how soon a new entry is written.
	writeEvery = time.Second
	// rewriteAfter is the time between two records of one entry.
	rewriteAfter = 10 * time.Minute
	// writeTimeout bounds one write, and the pause after one that failed.
	writeTimeout = 5 * time.Second
)

// Run writes the entries of the book to registry.unknowns.v1 until ctx ends: a new one within
// seconds, and one whose count has grown every ten minutes and at the end. It writes again what
// Kafka did not take. It always returns nil.
func (b *Book) Run(ctx context.Context, producer kafka.RecordProducer) error {
	for wait := writeEvery; pause.For(ctx, wait) == nil; {
		wait = writeEvery
		if err := b.write(ctx, producer, rewriteAfter); err != nil && ctx.Err() == nil {
			b.log.Warn("unknowns cannot be written: it is tried again", "err", err)
			wait = writeTimeout
		}
	}
	if err := b.write(context.WithoutCancel(ctx), producer, 0); err != nil {
		b.log.Warn("unknowns cannot be written", "err", err)
	}
	return nil
}

// part is an entry and the count that a record reports of it.
type part struct {
	e     *entry
	count uint64 // the entry's count when the record was made
}

// write writes a record of each entry whose count has grown, if it has no record yet or its last
// record is at least minAge old.
func (b *Book) write(ctx context.Context, producer kafka.RecordProducer, minAge time.Duration) error {
	parts, records := b.untold(minAge)
	if len(parts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := producer.Produce(ctx, records...); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range parts {
		p.e.told, p.e.toldAt = p.count, b.now()
	}
	return nil
}

// untold returns the entries that write writes, with their records, in the order of their keys.
func (b *Book) untold(minAge time.Duration) (parts []part, records []kafka.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, names := range b.kinds {
		for _, e := range names {
			if e.count > e.told && (e.told == 0 || b.now().Sub(e.toldAt) >= minAge) {
				parts = append(parts, part{e, e.count})
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.e.key(), b.e.key()) })
	for _, p := range parts {
		records = append(records, p.e.record())
	}
	return parts, records
}

func (e *entry) key() string { return string(e.kind) + "/" + e.name }

func (e *entry) record() kafka.Record {
	message := &eventspb.Unknown{
		Kind: string(e.kind), Name: e.name, Source: clean(e.first.Source), Count: e.count - e.told,
		FirstSeenMs: e.firstSeen.UnixMilli(), LastSeenMs: e.lastSeen.UnixMilli(), FirstSlot: e.first.Slot, LastSlot: e.lastSlot,
	}
	if e.told == 0 {
		message.Sample, message.SampleBytes, message.SamplePlace = e.first.Sample, uint64(e.sampleBytes), e.first.Place
	}
	// Marshal fails only for a text that is not valid UTF-8, and clean has made all texts valid.
	value, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return kafka.Record{
		Topic: schemas.TopicUnknowns, Key: []byte(e.key()), Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(schemas.TypeUnknown)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		},
	}
}
