package enrich

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// source names this room in dead letters.
const source = "enrich"

// factKind returns the kind of a fact: the second part of its record's type, and a metric label.
func factKind(fact *eventspb.Enrichment) string {
	switch fact.GetFact().(type) {
	case *eventspb.Enrichment_MintAccount:
		return "mint_account"
	case *eventspb.Enrichment_MetaplexAccount:
		return "metaplex_account"
	case *eventspb.Enrichment_Offchain:
		return "offchain"
	case *eventspb.Enrichment_Logo:
		return "logo"
	case *eventspb.Enrichment_NotAMint:
		return "not_a_mint"
	default:
		return "unknown"
	}
}

// factRecord returns the record of a fact. Equal facts give records with equal bytes as their
// value.
func factRecord(fact *eventspb.Enrichment, receivedAt kafka.Header) (kafka.Record, error) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(fact)
	if err != nil {
		return kafka.Record{}, fmt.Errorf("encode %s fact: %w", factKind(fact), err)
	}
	position := schemas.EndOfSlot(fact.GetSlot())
	return kafka.Record{
		Topic: schemas.TopicEnrichments,
		Key:   []byte(pubkey.Key(fact.GetMint()).String()),
		Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte("enrichment." + factKind(fact))},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
			{Key: schemas.HeaderPosition, Value: fmt.Appendf(nil, "%016x%016x", position.Slot, position.Order)},
			receivedAt,
		},
	}, nil
}

func (e *Enricher) receivedAt() kafka.Header {
	return kafka.Header{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, e.now().UnixMilli(), 10)}
}

// span begins the span of work on jobs. It is linked to what caused their requests: blocks of
// ingest.
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
		record, err := factRecord(fact, e.receivedAt())
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	tracing.Mark(ctx, records)
	if err := e.producer.Produce(ctx, records...); err != nil {
		return fmt.Errorf("write enrichments: %w", err)
	}
	for _, fact := range facts {
		e.metrics.facts.WithLabelValues(factKind(fact)).Inc()
	}
	return nil
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
