package delivery

import (
	"context"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
)

// Span begins the span of a batch, linked to the blocks whose records it holds. Without a tracer,
// and for records that no traced block made, there is none.
func Span(ctx context.Context, tracer *tracing.Tracer, name string, records []kafka.Record) (context.Context, *tracing.Span) {
	if tracer == nil {
		return ctx, nil
	}
	var traceparents []string
	last := ""
	for i := range records {
		for _, header := range records[i].Headers {
			// records of one block lie together
			if header.Key == tracing.Header && string(header.Value) != last {
				last = string(header.Value)
				traceparents = append(traceparents, last)
			}
		}
	}
	ctx, span := tracer.Linked(ctx, name, traceparents)
	span.Int("records", len(records))
	return ctx, span
}
