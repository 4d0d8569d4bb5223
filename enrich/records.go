package enrich

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// source names this room in dead letters.
const source = "enrich"

func (e *Enricher) receivedAt() kafka.Header {
	return kafka.Header{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, e.now().UnixMilli(), 10)}
}

// span begins the span of work on jobs. It is linked to the spans in which their requests were
// written, such as that of a block of ingest.
func (e *Enricher) span(ctx context.Context, name string, jobs ...*job) (context.Context, *tracing.Span) {
	if e.tracer == nil {
		return ctx, nil
	}
	records := make([]kafka.Record, len(jobs))
	for i, j := range jobs {
		records[i] = j.record
	}
	return e.tracer.Batch(ctx, name, records)
}

// publish makes facts durable, all of them in one call.
func (e *Enricher) publish(ctx context.Context, facts []*eventspb.Enrichment) error {
	if len(facts) == 0 {
		return nil
	}
	records := make([]kafka.Record, 0, len(facts))
	for _, fact := range facts {
		record, err := factrecord.Record(fact, e.now())
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	tracing.Mark(ctx, records)
	if err := e.producer.Produce(ctx, records...); err != nil {
		return fmt.Errorf("write enrichments: %w", err)
	}
	noteExtensions(e.unknowns, facts)
	for _, fact := range facts {
		e.metrics.facts.WithLabelValues(factrecord.Kind(fact)).Inc()
	}
	return nil
}

// noteExtensions counts the extensions of mints that this version does not know.
func noteExtensions(book *unknowns.Book, facts []*eventspb.Enrichment) {
	for _, fact := range facts {
		if mint := fact.GetMintAccount(); mint != nil {
			book.Extensions(mint, unknowns.Sighting{Source: source, Slot: fact.GetSlot(), Place: pubkey.Key(fact.GetMint()).String()})
		}
	}
}

// writeDeadLetter writes the request's dead letter.
func (e *Enricher) writeDeadLetter(ctx context.Context, j *job, reason, detail string) error {
	reasonText := validText(reason+": "+detail, maxReason)
	if err := e.producer.Produce(ctx, deadletter.Of(source, reasonText, &j.record, e.receivedAt())); err != nil {
		return fmt.Errorf("write dead letter: %w", err)
	}
	e.metrics.deadLetters.WithLabelValues(reason).Inc()
	e.logger.Debug("enrichment given up", "partition", j.record.Partition, "offset", j.record.Offset, "reason", reasonText)
	return nil
}

// giveUp writes the dead letter of the request and completes the job.
func (e *Enricher) giveUp(ctx context.Context, j *job, reason, detail string) error {
	if err := e.writeDeadLetter(ctx, j, reason, detail); err != nil {
		return err
	}
	e.complete(j)
	return nil
}
