package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/semaphore"
)

// ErrUnavailable says that ClickHouse is away, or that too many queries run already.
var ErrUnavailable = errors.New("clickhouse does not answer")

// Bounds of the queries that the public can cause.
type Bounds struct {
	// Time is how long one read may take, its wait for a turn included.
	Time time.Duration
	// Concurrent is how many reads run at once; further ones wait.
	Concurrent int
	// Memory is what one query may use, in bytes. A GROUP BY that uses half of that continues
	// on the disk.
	Memory int
	// Threads is how many threads one query may use.
	Threads int
}

// Questions runs queries within Bounds. It opens its connection for the first query, since an API
// node must start without ClickHouse, and keeps it until Close.
type Questions struct {
	open   func(ctx context.Context) (driver.Conn, error)
	bounds Bounds
	turns  *semaphore.Weighted

	mu   sync.Mutex
	conn driver.Conn
}

// NewQuestions returns Questions that connect by open. It does no I/O.
func NewQuestions(open func(ctx context.Context) (driver.Conn, error), bounds Bounds) *Questions {
	return &Questions{open: open, bounds: bounds, turns: semaphore.NewWeighted(int64(bounds.Concurrent))}
}

// Close closes the connection, if there is one.
func (q *Questions) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.conn == nil {
		return nil
	}
	conn := q.conn
	q.conn = nil
	return conn.Close()
}

// connection returns the one connection, which the first call opens.
func (q *Questions) connection(ctx context.Context) (driver.Conn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.conn == nil {
		conn, err := q.open(ctx)
		if err != nil {
			return nil, err
		}
		q.conn = conn
	}
	return q.conn, nil
}

// Ask waits until fewer than Bounds.Concurrent reads run, then calls read. The queries of read must
// use the context that it gets, which carries the other bounds. The error is ErrUnavailable if
// there is no answer within Bounds.Time, ctx ends during the wait, or the failure is retryable:
// then it may help to ask again later.
func (q *Questions) Ask(ctx context.Context, read func(ctx context.Context, conn driver.Conn) error) error {
	// This timeout is for a server that hangs and does not keep max_execution_time. For a server
	// that works, clickhouse-go sets max_execution_time to the time that is left here and 5 s more.
	ctx, cancel := context.WithTimeout(ctx, q.bounds.Time)
	defer cancel()
	if q.turns.Acquire(ctx, 1) != nil {
		return fmt.Errorf("%w: all %d turns are taken", ErrUnavailable, q.bounds.Concurrent)
	}
	defer q.turns.Release(1)
	conn, err := q.connection(ctx)
	if err == nil {
		err = read(ch.Context(ctx, ch.WithSettings(ch.Settings{
			"max_execution_time": int(q.bounds.Time.Seconds()), "max_memory_usage": q.bounds.Memory, "max_threads": q.bounds.Threads,
			"max_bytes_before_external_group_by": q.bounds.Memory / 2,
		})), conn)
	}
	if err != nil && Retryable(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
