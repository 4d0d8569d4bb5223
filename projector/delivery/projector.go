package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
)

// flushTimeout bounds the work on one batch after a stop was asked for.
const flushTimeout = 5 * time.Second

// Projector stores what the records of some topics say, in batches of the type B. All fields but
// Tracer are required.
type Projector[B any] struct {
	Step
	// Size is the size of a batch of records.
	Size   Batches
	Tracer *tracing.Tracer
	// New makes an empty batch, and Add reads a record into it: see Letters.Read. Insert makes the
	// batch durable, and Stored counts its rows.
	New    func() B
	Add    func(B, *kafka.Record) error
	Insert func(context.Context, B) error
	Stored func(B)
}

// Run projects until ctx ends, then finishes the current batch and returns nil. An error needs an
// operator: the tables refuse what this binary writes, or Kafka does not let it read records or
// write dead letters.
func (p *Projector[B]) Run(ctx context.Context) error {
	if err := Run(ctx, p.Consumer, p.Size, p.Logger, p.project); err != nil {
		return fmt.Errorf("projector of %s: %w", p.What, err)
	}
	return nil
}

// project stores one batch and commits it. After ctx ends it has flushTimeout to finish, so that a
// stop loses no work.
func (p *Projector[B]) project(ctx context.Context, records []kafka.Record) (err error) {
	work, cancel := Graceful(ctx, flushTimeout)
	defer cancel()
	work, span := p.Tracer.Batch(work, "project "+p.What, records)
	defer func() { span.EndWith(err) }()
	batch := p.New()
	err = p.Do(work, records, func(record *kafka.Record) error { return p.Add(batch, record) }, func(ctx context.Context) error { return p.Insert(ctx, batch) })
	if err == nil {
		p.Stored(batch)
	}
	return err
}
