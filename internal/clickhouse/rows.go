package clickhouse

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Each calls visit with every row of a query's answer, in order, until one call fails.
func Each(ctx context.Context, conn driver.Conn, visit func(driver.Rows) error, query string, args ...any) error {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err tells what went wrong
	for rows.Next() {
		if err := visit(rows); err != nil {
			return fmt.Errorf("read row: %w", err)
		}
	}
	return rows.Err()
}

// List returns the rows of a query's answer, in order. scan reads one row into a T.
func List[T any](ctx context.Context, conn driver.Conn, scan func(driver.Rows, *T) error, query string, args ...any) ([]T, error) {
	var list []T
	err := Each(ctx, conn, func(rows driver.Rows) error {
		var next T
		if err := scan(rows, &next); err != nil {
			return err
		}
		list = append(list, next)
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Columns makes columns from pairs of name and type.
func Columns(pairs ...string) []Column {
	list := make([]Column, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, Column{Name: pair[0], Type: pair[1]})
	}
	return list
}
