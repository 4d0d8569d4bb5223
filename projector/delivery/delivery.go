// Package delivery has what the projectors of this room do alike: they read from a consumer group,
// write dead letters for records that are not messages of their topic, repeat a write until the
// store takes it, and finish the current batch when they are stopped.
//
// In: records and a store's errors. Out: dead letters, and repeated calls. Guarantees: a call ends
// with success, with an error that is not retryable, or when its context ends.
package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
)

// Consumer is a member of a projector's group.
type Consumer interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]kafka.Record, error)
	Commit(ctx context.Context, records []kafka.Record) error
}

// Batches says how large a batch is, and how long it gathers.
type Batches struct {
	Records int
	Wait    time.Duration
}

// Run gives one batch after the other to project until ctx ends; then it returns nil, also if
// project was stopped inside a batch. It returns the error of a fetch, or of project.
func Run(ctx context.Context, consumer Consumer, size Batches, logger *slog.Logger, project func(context.Context, []kafka.Record) error) error {
	for {
		records, err := consumer.FetchBatch(ctx, size.Records, size.Wait)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		if err := project(ctx, records); err != nil {
			if ctx.Err() != nil {
				logger.Info("projector stopped inside a batch: it is read again at the next start", "err", err)
				return nil
			}
			return err
		}
	}
}

// Letters writes dead letters for records that are no messages of their topic.
type Letters struct {
	Producer kafka.RecordProducer
	Logger   *slog.Logger
	// Written counts the dead letters.
	Written prometheus.Counter
}

// Read calls read for each record. If read returns an error, the record is no message of its topic
// and gets a dead letter with that error. Read returns when all dead letters are durable.
func (l *Letters) Read(ctx context.Context, records []kafka.Record, read func(*kafka.Record) error) error {
	var letters []kafka.Record
	for i := range records {
		record := &records[i]
		if err := read(record); err != nil {
			l.Written.Inc()
			l.Logger.Warn("record is no message of its topic: dead letter", "topic", record.Topic, "partition", record.Partition, "offset", record.Offset, "err", err)
			letters = append(letters, deadletter.Of("projector", err.Error(), record))
		}
	}
	if len(letters) == 0 {
		return nil
	}
	if err := l.Producer.Produce(ctx, letters...); err != nil {
		return fmt.Errorf("write dead letters: %w", err)
	}
	return nil
}

// The first and the longest pause between two attempts of a write.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// Retry calls do until it succeeds, ctx ends, or its error is not retryable. It calls failed before
// each new attempt, with the error and the pause. Each attempt has more time for its writes than
// the one before.
func Retry(ctx context.Context, retryable func(error) bool, failed func(err error, pause time.Duration), do func(context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
	attempt := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do(clickhouse.WithAttempt(ctx, attempt))
		attempt++
		if err != nil && !retryable(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0), backoff.WithNotify(failed))
	return err
}

// Graceful returns a context that ends grace after ctx does, so that a stop loses no finished work.
func Graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() { stop(); cancel() }
}
