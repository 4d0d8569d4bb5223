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
	// change little. Each batch is up to seven inserts, which cost ClickHouse some 15 ms of a
	// processor each, however few their rows are.
	batchWait = 2 * time.Second
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
type Projector = delivery.Projector[*Batch]

// New makes a projector that does nothing until Run.
func New(deps Deps) (*Projector, error) {
	if deps.Consumer == nil || deps.Producer == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("projector of swaps: consumer, producer, store and logger are required")
	}
	m, err := newMetrics(deps.Registerer)
	return &Projector{
		Step: delivery.Step{
			Consumer: deps.Consumer, Logger: deps.Logger, What: "swaps", Retryable: deps.Store.Retryable,
			Letters: delivery.Letters{Producer: deps.Producer, Logger: deps.Logger, Written: m.deadLetters},
			Refused: m.storeErrors, Limits: m.writeLimits,
		},
		Size: delivery.Batches{Records: batchRecords, Wait: batchWait}, Tracer: deps.Tracer,
		New: NewBatch, Add: (*Batch).Add, Insert: deps.Store.Insert,
		Stored: func(batch *Batch) {
			m.legs.Add(float64(len(batch.Legs)))
			m.routes.Add(float64(len(batch.Routes)))
			m.liquidity.Add(float64(len(batch.Changes)))
		},
	}, err
}
