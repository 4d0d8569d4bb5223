// Package swaps turns swap legs, aggregators' routes, changes of liquidity and pools into
// ClickHouse rows.
//
// In: records of chain.swaps.v1 and chain.pools.v1. Out: rows of swaps_raw, routes_raw,
// liquidity_raw, pools_raw, pool_reserves_raw and last_trades_raw; in swap_minutes_raw, the minutes
// that wait for their valuation; dead letters for records that are not messages of their topic.
// Guarantees: an offset is committed only after the rows are stored. Storing a record twice, or in
// another order, leaves the same rows. It has its own consumer group, so swaps and token events do
// not wait for each other.
package swaps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
)

const (
	// batchRecords is the maximum number of records of one batch. Half of the records of legs
	// repeat a leg under its other mint.
	batchRecords = 40_000
	// batchWait is how long a batch gathers. Legs are valued every ten seconds, so two seconds more
	// change little. Each batch is five inserts, which cost ClickHouse some 15 ms of a processor
	// each, however few their rows are.
	batchWait = 2 * time.Second
	// flushTimeout bounds the work on one batch after a stop was asked for.
	flushTimeout = 5 * time.Second
)

// Topics returns the topics that the projector's consumer reads.
func Topics() []string { return []string{schemas.TopicSwaps, schemas.TopicPools} }

// Store makes batches durable. Retryable reports whether the same call may succeed later.
type Store interface {
	Insert(ctx context.Context, batch *Batch) error
	Retryable(err error) bool
}

// Deps are a projector's collaborators; all but Registerer and Tracer are required.
type Deps struct {
	Consumer   delivery.Consumer
	Producer   kafka.RecordProducer
	Store      Store
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Tracer     *tracing.Tracer
}

// Projector is the component.
type Projector struct {
	deps    Deps
	metrics *metrics
}

// New makes a projector that does nothing until Run.
func New(deps Deps) (*Projector, error) {
	if deps.Consumer == nil || deps.Producer == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("swaps: consumer, producer, store and logger are required")
	}
	metrics, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("swaps: %w", err)
	}
	return &Projector{deps: deps, metrics: metrics}, nil
}

// Run projects until ctx ends, then finishes the current batch and returns nil. An error needs an
// operator: the tables refuse what this binary writes, or Kafka does not let it read records or
// write dead letters.
func (p *Projector) Run(ctx context.Context) error {
	err := delivery.Run(ctx, p.deps.Consumer, delivery.Batches{Records: batchRecords, Wait: batchWait}, p.deps.Logger, p.project)
	if err != nil {
		return fmt.Errorf("swaps: %w", err)
	}
	return nil
}

// project stores one batch and commits it. After ctx ends it has flushTimeout to finish, so that a
// stop loses no work.
func (p *Projector) project(ctx context.Context, records []kafka.Record) (err error) {
	work, cancel := delivery.Graceful(ctx, flushTimeout)
	defer cancel()
	work, span := p.deps.Tracer.Batch(work, "project swaps", records)
	defer func() { span.EndWith(err) }()
	batch := NewBatch()
	step := delivery.Step{
		Consumer: p.deps.Consumer, Logger: p.deps.Logger, What: "swaps", Retryable: p.deps.Store.Retryable,
		Letters: delivery.Letters{Producer: p.deps.Producer, Logger: p.deps.Logger, Written: p.metrics.deadLetters},
		Refused: p.metrics.storeErrors, Limits: p.metrics.writeLimits,
	}
	err = step.Do(work, records, batch.Add, func(ctx context.Context) error { return p.deps.Store.Insert(ctx, batch) })
	if err != nil {
		return err
	}
	p.metrics.legs.Add(float64(len(batch.Legs)))
	p.metrics.routes.Add(float64(len(batch.Routes)))
	p.metrics.liquidity.Add(float64(len(batch.Changes)))
	return nil
}
