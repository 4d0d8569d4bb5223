package chtest

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Recorder keeps the statements of migrations instead of running them: for tests of what a cluster
// would get. To it, every query returns no rows, and every batch is stored.
type Recorder struct {
	driver.Conn
	Statements []string
}

// Exec implements driver.Conn.
func (r *Recorder) Exec(_ context.Context, query string, _ ...any) error {
	r.Statements = append(r.Statements, query)
	return nil
}

// Select implements driver.Conn.
func (r *Recorder) Select(context.Context, any, string, ...any) error { return nil }

// PrepareBatch implements driver.Conn.
func (r *Recorder) PrepareBatch(context.Context, string, ...driver.PrepareBatchOption) (driver.Batch, error) {
	return droppedBatch{}, nil
}

// droppedBatch is a batch that goes nowhere.
type droppedBatch struct{ driver.Batch }

func (droppedBatch) Append(...any) error { return nil }
func (droppedBatch) Send() error         { return nil }
func (droppedBatch) Abort() error        { return nil }
func (droppedBatch) Close() error        { return nil }
