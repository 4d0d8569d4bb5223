// Package usage turns the usage of API keys into ClickHouse rows.
//
// In: records of gateway.usage.v1. Out: rows of key_usage_1m_raw; dead letters for records that are
// not messages of the topic. Guarantees: an offset is committed only after the rows are stored.
// Storing a record twice, or in another order, leaves the same rows. It has its own consumer group,
// so the registry never waits for it.
package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	batchRecords = 20_000
	// batchWait is how long a batch gathers: gateways write their usage every few seconds.
	batchWait = time.Second
	// flushTimeout bounds the work on one batch after a stop was asked for.
	flushTimeout = 5 * time.Second
)

// Topics returns the topics that the projector's consumer reads.
func Topics() []string { return []string{schemas.TopicGatewayUsage} }

// Store makes rows durable. Retryable reports whether the same call may succeed later.
type Store interface {
	Insert(ctx context.Context, rows []*eventspb.Usage) error
	Retryable(err error) bool
}

// Deps are a projector's collaborators; all but Registerer are required.
type Deps struct {
	Consumer   delivery.Consumer
	Producer   kafka.RecordProducer
	Store      Store
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Projector is the component.
type Projector struct {
	deps                           Deps
	rows, deadLetters, storeErrors prometheus.Counter
}

// New makes a projector that does nothing until Run.
func New(deps Deps) (*Projector, error) {
	if deps.Consumer == nil || deps.Producer == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("projector of usage: consumer, producer, store and logger are required")
	}
	p := &Projector{
		deps:        deps,
		rows:        prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_usage_rows_total", Help: "Rows of usage stored, repeated ones included."}),
		deadLetters: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_usage_dead_letters_total", Help: "Records of usage that are no message of their topic."}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_usage_store_errors_total", Help: "Batches of usage that ClickHouse refused; they are tried again."}),
	}
	return p, counters.Register(deps.Registerer, p.rows, p.deadLetters, p.storeErrors)
}

// Run projects until ctx ends, then finishes the current batch and returns nil. An error needs an
// operator: the table refuses what this binary writes, or Kafka does not let it read records or
// write dead letters.
func (p *Projector) Run(ctx context.Context) error {
	err := delivery.Run(ctx, p.deps.Consumer, delivery.Batches{Records: batchRecords, Wait: batchWait}, p.deps.Logger, p.project)
	if err != nil {
		return fmt.Errorf("projector of usage: %w", err)
	}
	return nil
}

// project stores one batch and commits it. After ctx ends it has flushTimeout to finish.
func (p *Projector) project(ctx context.Context, records []kafka.Record) error {
	work, cancel := delivery.Graceful(ctx, flushTimeout)
	defer cancel()
	rows := make([]*eventspb.Usage, 0, len(records))
	step := delivery.Step{
		Consumer: p.deps.Consumer, Logger: p.deps.Logger, What: "usage", Retryable: p.deps.Store.Retryable,
		Letters: delivery.Letters{Producer: p.deps.Producer, Logger: p.deps.Logger, Written: p.deadLetters}, Refused: p.storeErrors,
	}
	err := step.Do(work, records, func(record *kafka.Record) error {
		row, err := read(record)
		if err == nil {
			rows = append(rows, row)
		}
		return err
	}, func(ctx context.Context) error { return p.deps.Store.Insert(ctx, rows) })
	if err != nil {
		return err
	}
	p.rows.Add(float64(len(rows)))
	return nil
}
