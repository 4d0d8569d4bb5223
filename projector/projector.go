// Package projector turns the event log into ClickHouse rows.
//
// In: records of the token-event, enrichment and slot topics. Out: rows of token_events_raw,
// token_facts_raw, token_fact_history_raw, tokens_raw and slots_raw; dead letters for records that
// are not messages of their topic. Guarantees: an offset is committed only after all rows are
// stored, also those of tokens. Storing a record twice, or in another order, leaves the same rows.
// While a partition is far behind, its rows of tokens are made in large folds instead of batch by
// batch (docs/bootstrap.md says how late that is). Other partitions do not wait for it.
package projector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/projector/delivery"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// batchWait is how long a batch gathers. Inserts and folds take some tenths of a second however few
// the records are.
const batchWait = time.Second

// flushTimeout bounds the work on one batch after a stop was asked for.
const flushTimeout = 5 * time.Second

// Config bounds the batches.
type Config struct {
	// batchRecords is the maximum number of records of one batch. Default 10,000.
	batchRecords int
	// bulkRecords is the maximum number of records of one batch while a partition is far behind.
	// Default 20,000: some 120,000 facts, 200 MB while they are sent.
	bulkRecords int
	// BulkLag is how many records a partition must be behind for its rows to be made in large
	// folds. Default 30,000. It also bounds batchRecords, because only a full batch makes the
	// projector check its lag.
	BulkLag int64
	// FoldEvery is how long such a fold waits at least for more records. Default 1 minute. After a
	// fold that took long, the next one waits longer.
	FoldEvery time.Duration
}

func (c Config) withDefaults() Config {
	c.batchRecords = cmp.Or(max(c.batchRecords, 0), 10_000)
	c.bulkRecords = cmp.Or(max(c.bulkRecords, 0), 20_000)
	c.BulkLag = cmp.Or(max(c.BulkLag, 0), 30_000)
	c.batchRecords = int(min(int64(c.batchRecords), c.BulkLag))
	c.FoldEvery = cmp.Or(max(c.FoldEvery, 0), time.Minute)
	return c
}

// Topics returns the topics that a projector's consumer reads.
func Topics() []string {
	return []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots}
}

// Store makes batches durable. Retryable reports whether the same call may succeed later.
type Store interface {
	// Insert stores all rows of a batch except those of tokens.
	Insert(ctx context.Context, batch *Batch) error
	// Fold computes the rows of tokens again from all stored facts.
	Fold(ctx context.Context, dirty Dirty) error
	// Outdated reports whether rows of tokens were made by an earlier version's rules.
	Outdated(ctx context.Context) (bool, error)
	Retryable(err error) bool
}

// Deps are a projector's collaborators.
type Deps struct {
	Consumer delivery.Consumer
	Producer kafka.RecordProducer
	Store    Store
	// Offsets may be nil: then every batch is folded as it comes, however long the log is.
	Offsets    kafka.Ends
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Tracer may be nil: then there are no spans.
	Tracer *tracing.Tracer
}

// Projector is the room's component.
type Projector struct {
	config  Config
	deps    Deps
	metrics *metrics
	backlog *backlog
	// folding is a semaphore of one. A batch holds it while it folds, and a fold of the backlog
	// holds it if it is short.
	folding chan struct{}
}

// New makes a projector that does nothing until Run.
func New(config Config, deps Deps) (*Projector, error) {
	if deps.Consumer == nil || deps.Producer == nil || deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("projector: consumer, producer, store and logger are required")
	}
	metrics, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("projector: %w", err)
	}
	config = config.withDefaults()
	return &Projector{config: config, deps: deps, metrics: metrics, backlog: newBacklog(config.FoldEvery), folding: make(chan struct{}, 1)}, nil
}

// Run projects until ctx ends, then finishes the current batch and returns nil. An error needs an
// operator: the tables refuse what this binary writes, or Kafka does not let it read records or
// write dead letters.
func (p *Projector) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.foldBacklog(ctx) })
	group.Go(func() error { return p.projectAll(ctx) })
	return group.Wait()
}

// projectAll projects one batch after the other. Batches are larger while there is a backlog.
func (p *Projector) projectAll(ctx context.Context) error {
	for {
		limit := p.config.batchRecords
		if p.backlog.pending() {
			limit = p.config.bulkRecords
		}
		records, err := p.deps.Consumer.FetchBatch(ctx, limit, batchWait)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("projector: fetch: %w", err)
		}
		if err := p.project(ctx, records); err != nil {
			if ctx.Err() != nil {
				p.deps.Logger.Info("projector stopped inside a batch: it is read again at the next start", "err", err)
				return nil
			}
			return err
		}
	}
}

// project stores one batch and commits it, except for what waits to be folded. After ctx ends it
// has flushTimeout to finish, so that a stop loses no work.
func (p *Projector) project(ctx context.Context, records []kafka.Record) (err error) {
	ctx, cancel := delivery.Graceful(ctx, flushTimeout)
	defer cancel()
	ctx, span := p.deps.Tracer.Batch(ctx, "project batch", records)
	defer func() { span.EndWith(err) }()
	last := lastOf(records)
	batch, late, now, err := p.read(ctx, records, p.lookAhead(ctx, records, last))
	if err != nil {
		return err
	}
	started := time.Now()
	inserting, insert := tracing.Child(ctx, "insert")
	err = p.retry(inserting, func(ctx context.Context) error { return p.deps.Store.Insert(ctx, batch) })
	insert.EndWith(err)
	if err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	folding, fold := tracing.Child(ctx, "fold")
	free, err := p.foldNow(folding, late, now, last)
	fold.EndWith(err)
	if err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	p.metrics.observe(batch, len(records), time.Since(started))
	return p.commit(ctx, free)
}

func (p *Projector) commit(ctx context.Context, records []kafka.Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := p.deps.Consumer.Commit(ctx, records); err != nil {
		return fmt.Errorf("projector: commit: %w", err)
	}
	return nil
}

// foldNow folds the mints of now, puts those of late into the backlog, and returns the records that
// can be committed now.
func (p *Projector) foldNow(ctx context.Context, late, now []pubkey.Key, last map[kafka.TopicPartition]kafka.Record) ([]kafka.Record, error) {
	p.folding <- struct{}{} // not for long: the holder stops when ctx ends
	defer func() { <-p.folding }()
	if len(now) > 0 {
		if err := p.retry(ctx, func(ctx context.Context) error { return p.deps.Store.Fold(ctx, Dirty{Mints: now}) }); err != nil {
			return nil, err
		}
	}
	return p.backlog.add(late, now, last, time.Now()), nil
}

// read sorts records into a batch, and the batch's mints into two lists: late has those of
// partitions that are behind, now the others. A record that is not a message of its topic becomes a
// dead letter.
func (p *Projector) read(ctx context.Context, records []kafka.Record, behind map[kafka.TopicPartition]bool) (batch *Batch, late, now []pubkey.Key, err error) {
	batch = &Batch{}
	letters := delivery.Letters{Producer: p.deps.Producer, Logger: p.deps.Logger, Written: p.metrics.deadLetters}
	err = letters.Read(ctx, records, func(record *kafka.Record) error {
		known := len(batch.Statements)
		err := batch.Add(record)
		if stated := batch.Statements[known:]; behind[record.TopicPartition()] {
			late = appendMints(late, stated)
		} else {
			now = appendMints(now, stated)
		}
		return err
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("projector: %w", err)
	}
	return batch, sortedOnce(late), sortedOnce(now), nil
}

// lastOf returns the last record of each partition, without its contents.
func lastOf(records []kafka.Record) map[kafka.TopicPartition]kafka.Record {
	last := map[kafka.TopicPartition]kafka.Record{}
	for i := range records {
		r := &records[i]
		last[r.TopicPartition()] = kafka.Record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	}
	return last
}

// retry calls do until it succeeds, as long as the store may recover.
func (p *Projector) retry(ctx context.Context, do func(context.Context) error) error {
	return delivery.Retry(ctx, p.deps.Store.Retryable, func(err error, wait time.Duration) {
		p.metrics.writeRetries.Inc()
		if errors.Is(err, clickhouse.ErrWriteLimit) {
			p.metrics.writeLimits.Inc()
		}
		p.deps.Logger.Warn("write failed, will be tried again", "err", err, "wait", wait)
	}, do)
}
