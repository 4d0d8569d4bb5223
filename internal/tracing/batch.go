package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Batch begins the span of work on records, linked to the spans that made them, such as a block of
// ingest. There is no span if there is no tracer, or if none of the records was traced.
func (t *Tracer) Batch(ctx context.Context, name string, records []kafka.Record) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	var traceparents []string
	last := ""
	for i := range records {
		for _, header := range records[i].Headers {
			// Records of one block follow each other, so this leaves out nearly all repeats.
			if header.Key == Header && string(header.Value) != last {
				last = string(header.Value)
				traceparents = append(traceparents, last)
			}
		}
	}
	ctx, span := t.Linked(ctx, name, traceparents)
	span.Int("records", len(records))
	return ctx, span
}

// Mark adds the traceparent of the span of ctx to records, so that the span of their reader is
// linked to it.
func Mark(ctx context.Context, records []kafka.Record) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	header := kafka.Header{Key: Header, Value: []byte((&Span{span}).Traceparent())}
	for i := range records {
		records[i].Headers = append(records[i].Headers, header)
	}
}
