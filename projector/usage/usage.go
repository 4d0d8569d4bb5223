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
type Projector = delivery.Projector[*[]*eventspb.Usage]

// New makes a projector that does nothing until Run.
func New(deps Deps) (*Projector, error) {
	if deps.Consumer == nil || deps.Producer == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("projector of usage: consumer, producer, store and logger are required")
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_usage_" + name, Help: help})
	}
	stored := counter("rows_total", "Rows of usage stored, repeated ones included.")
	letters := counter("dead_letters_total", "Records of usage that are no message of their topic.")
	p := &Projector{
		Step: delivery.Step{
			Consumer: deps.Consumer, Logger: deps.Logger, What: "usage", Retryable: deps.Store.Retryable,
			Letters: delivery.Letters{Producer: deps.Producer, Logger: deps.Logger, Written: letters},
			Refused: counter("store_errors_total", "Batches of usage that ClickHouse refused; they are tried again."),
		},
		Size: delivery.Batches{Records: batchRecords, Wait: batchWait},
		New:  func() *[]*eventspb.Usage { return new([]*eventspb.Usage) },
		Add: func(rows *[]*eventspb.Usage, record *kafka.Record) error {
			row, err := read(record)
			if err == nil {
				*rows = append(*rows, row)
			}
			return err
		},
		Insert: func(ctx context.Context, rows *[]*eventspb.Usage) error { return deps.Store.Insert(ctx, *rows) },
		Stored: func(rows *[]*eventspb.Usage) { stored.Add(float64(len(*rows))) },
	}
	return p, counters.Register(deps.Registerer, stored, letters, p.Refused)
}
