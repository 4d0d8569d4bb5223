package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// ErrWriteLimit says that a write did not end within its limit and was cancelled. It is retryable,
// see WithAttempt.
var ErrWriteLimit = errors.New("the write did not end within its limit and was killed")

// Limits of writes through a connection that was opened WithWriteLimit.
const (
	// DefaultWriteLimit is many times as long as a write takes on a machine that keeps up.
	DefaultWriteLimit = 15 * time.Second
	// LongestWriteLimit is the longest limit that repeated attempts get.
	LongestWriteLimit = 2 * time.Minute
)

// WithWriteLimit gives every write a limit of its own. A write is an Exec, or a batch from
// PrepareBatch until it is sent, aborted or closed. The read timeout still bounds reads. It would
// also end writes, so it is raised to at least limit and LongestWriteLimit. After the limit the
// call returns ErrWriteLimit and drops the connection, and the server kills the query because its
// client is gone.
func WithWriteLimit(limit time.Duration) Option {
	return func(o *options) {
		o.writeLimit = limit
		o.driver.ReadTimeout = max(o.driver.ReadTimeout, limit, LongestWriteLimit)
	}
}

type attemptKey struct{}

// WithAttempt returns a context for writes that has the number of the attempt, which begins at 0.
// Each attempt may take twice as long as the one before, up to LongestWriteLimit. So a stall costs
// only one limit, and a machine that is too slow for the limit does not fail for ever.
func WithAttempt(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// limited is a connection whose writes have a limit.
type limited struct {
	driver.Conn
	limit time.Duration
}

// bound returns the context of one write and its cancel function. explain turns the write's error
// into ErrWriteLimit if the limit was the cause.
func (c *limited) bound(ctx context.Context) (within context.Context, cancel context.CancelFunc, explain func(error) error) {
	attempt, _ := ctx.Value(attemptKey{}).(int)
	limit := c.limit
	for ; attempt > 0 && limit < LongestWriteLimit; attempt-- {
		limit = min(2*limit, LongestWriteLimit)
	}
	within, cancel = context.WithTimeoutCause(ctx, limit, ErrWriteLimit)
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

// limitedBatch is a batch whose limit ends when the batch is sent, aborted or closed.
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

// options has the driver's options and those of this package.
type options struct {
	driver     *ch.Options
	access     *Access
	writeLimit time.Duration
}
