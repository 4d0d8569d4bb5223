package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Insert inserts one batch of rows into columns of a table. fill appends the rows to the batch.
// table has the form database.table. Errors wrap those of the driver, so that Retryable can judge
// them.
func Insert(ctx context.Context, conn driver.Conn, table string, columns []Column, fill func(driver.Batch) error) error {
	batch, err := conn.PrepareBatch(withTypes(ctx, columns), "INSERT INTO "+table+" ("+strings.Join(Names(columns), ", ")+")")
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer batch.Abort() //nolint:errcheck // after Send it has nothing to do
	if err := fill(batch); err != nil {
		return fmt.Errorf("append row: %w", err)
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// InsertRows inserts count rows into columns of a table. fill calls add once for each row. If count
// is 0, InsertRows does nothing. Errors name the table, and wrap those of the driver.
func InsertRows(ctx context.Context, conn driver.Conn, database, table string, columns []Column, count int, fill func(add func(...any) error) error) error {
	if count == 0 {
		return nil
	}
	err := Insert(ctx, conn, database+"."+table, columns, func(rows driver.Batch) error { return fill(rows.Append) })
	if err != nil {
		return fmt.Errorf("insert %s: %w", table, err)
	}
	return nil
}

// withTypes tells the driver the types of the columns of an INSERT over HTTP. Without them the
// driver asks the server for the types before each INSERT.
func withTypes(ctx context.Context, columns []Column) context.Context {
	known := make([]clickhouse.ColumnNameAndType, len(columns))
	for i, column := range columns {
		known[i] = clickhouse.ColumnNameAndType(column)
	}
	return clickhouse.Context(ctx, clickhouse.WithColumnNamesAndTypes(known))
}

// Names returns the names of columns, in their order.
func Names(columns []Column) []string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return names
}
