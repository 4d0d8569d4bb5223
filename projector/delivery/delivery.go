// Package delivery has what the projectors of this room do alike: they read from a consumer group,
// write dead letters for records that are not messages of their topic, repeat a write until the
// store takes it, and finish the current batch when they are stopped.
//
// In: records and a store's errors. Out: dead letters, and repeated calls. Guarantees: a call ends
// with success, with an error that is not retryable, or when its context ends.
package delivery

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
)

// Consumer is a member of a projector's group.
type Consumer interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]kafka.Record, error)
	Commit(ctx context.Context, records []kafka.Record) error
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

// DeadLetter returns the dead letter of a record that is not a message of its topic, with the
// reason.
func DeadLetter(record *kafka.Record, reason error) kafka.Record {
	return deadletter.Of("projector", reason.Error(), record)
}
