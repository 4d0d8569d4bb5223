package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// ErrWriteLimit says that a write did not end within its limit, and was killed. It is retryable:
// see WithAttempt.
var ErrWriteLimit = errors.New("the write did not end within its limit and was killed")

// Limits of writes through a connection that was opened WithWriteLimit.
const (
	// DefaultWriteLimit is many times what a write takes on a machine that keeps up.
	DefaultWriteLimit = 15 * time.Second
	// LongestWriteLimit is where repeated attempts stop to get more time.
	LongestWriteLimit = 2 * time.Minute
)

// WithWriteLimit gives every write (Exec, and a batch from its preparation to its end) a limit of
// its own. Reads keep the read timeout. Behind the limit the query is killed, by the server when
// its client is gone, and the call returns ErrWriteLimit.
func WithWriteLimit(limit time.Duration) Option {
	return func(o *options) {
		o.writeLimit = limit
		o.driver.ReadTimeout = max(o.driver.ReadTimeout, limit, LongestWriteLimit)
	}
}

type attemptKey struct{}

// WithAttempt tells writes which attempt they are, from 0. Each attempt may take twice as long as
// the one before, up to LongestWriteLimit: a stall costs one limit, and a machine that is too slow
// for the limit does not fail for ever.
func WithAttempt(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// limited is a connection whose writes are limited.
type limited struct {
	driver.Conn
	limit time.Duration
}

// bound returns the context of one write, with what turns its error into the caller's.
func (c *limited) bound(ctx context.Context) (context.Context, context.CancelFunc, func(error) error) {
	attempt, _ := ctx.Value(attemptKey{}).(int)
	limit := c.limit
	for ; attempt > 0 && limit < LongestWriteLimit; attempt-- {
		limit = min(2*limit, LongestWriteLimit)
	}
	within, cancel := context.WithTimeoutCause(ctx, limit, ErrWriteLimit)
	return within, cancel, func(err error) error {
		if err == nil || !errors.Is(context.Cause(within), ErrWriteLimit) {
			return err
		}
		return fmt.Errorf("%w (%s): %w", ErrWriteLimit, limit, err)
	}
}

// Exec implements driver.Conn.
func (c *limited) Exec(ctx context.Context, query string, args ...any) error {
	ctx, cancel, explain := c.bound(ctx)
	defer cancel()
	return explain(c.Conn.Exec(ctx, query, args...))
}

// PrepareBatch implements driver.Conn.
func (c *limited) PrepareBatch(ctx context.Context, query string, opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	ctx, cancel, explain := c.bound(ctx)
	batch, err := c.Conn.PrepareBatch(ctx, query, opts...)
	if err != nil {
		cancel()
		return nil, explain(err)
	}
	return &limitedBatch{Batch: batch, cancel: cancel, explain: explain}, nil
}

// limitedBatch ends its limit with itself.
type limitedBatch struct {
	driver.Batch
	cancel  context.CancelFunc
	explain func(error) error
}

// Send implements driver.Batch.
func (b *limitedBatch) Send() error {
	defer b.cancel()
	return b.explain(b.Batch.Send())
}

// Flush implements driver.Batch.
func (b *limitedBatch) Flush() error { return b.explain(b.Batch.Flush()) }

// Abort implements driver.Batch.
func (b *limitedBatch) Abort() error {
	defer b.cancel()
	return b.Batch.Abort()
}

// Close implements driver.Batch.
func (b *limitedBatch) Close() error {
	defer b.cancel()
	return b.Batch.Close()
}

// options are those of the driver with our own beside them.
type options struct {
	driver     *ch.Options
	access     *Access
	writeLimit time.Duration
}
