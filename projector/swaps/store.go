package swaps

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
)

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	conn     driver.Conn
	database string
}

// NewClickHouse returns a store that writes to the tables of database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database}
}

// Check compares the tables with the columns that this binary writes; one error names all that is missing or of another type.
func (c *ClickHouse) Check(ctx context.Context) error {
	for _, table := range []struct {
		name    string
		columns []clickhouse.Column
	}{
		{tableSwaps, swapColumns()}, {tableRoutes, routeColumns()}, {tablePools, poolColumns()},
		{tablePoolReserves, poolReserveColumns()}, {tableLastTrades, lastTradeColumns()}, {tableSwapMinutes, swapMinuteColumns()},
	} {
		if err := clickhouse.CheckColumns(ctx, c.conn, c.database, table.name, table.columns); err != nil {
			return fmt.Errorf("swaps: %w", err)
		}
	}
	return nil
}

// Retryable says whether the server may take the same batch later.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }

// Insert makes the batch durable. The book of minutes comes last: whoever finds a minute in it finds its legs too, and a kill before it
// leaves the offsets uncommitted, so the batch comes again.
func (c *ClickHouse) Insert(ctx context.Context, batch *Batch) error {
	for _, part := range []struct {
		table  string
		insert func(context.Context, *Batch) error
	}{
		{tableSwaps, c.insertSwaps}, {tableRoutes, c.insertRoutes}, {tablePools, c.insertPools}, {tablePoolReserves, c.insertPoolReserves}, {tableLastTrades, c.insertLastTrades},
		{tableSwapMinutes, c.insertSwapMinutes},
	} {
		if err := part.insert(ctx, batch); err != nil {
			return fmt.Errorf("insert %s: %w", part.table, err)
		}
	}
	return nil
}

// insert sends rows as one block.
func (c *ClickHouse) insert(ctx context.Context, table string, columns []clickhouse.Column, rows int, fill func(add func(values ...any) error) error) error {
	if rows == 0 {
		return nil
	}
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	batch, err := c.conn.PrepareBatch(ctx, fmt.Sprintf("INSERT INTO %s.%s (%s)", c.database, table, strings.Join(names, ", ")))
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer batch.Abort() //nolint:errcheck // after Send it has nothing to do
	if err := fill(batch.Append); err != nil {
		return fmt.Errorf("append row: %w", err)
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// positionNumber is a position as ClickHouse's UInt128.
func positionNumber(p schemas.Position) *big.Int {
	number := new(big.Int).SetUint64(p.Slot)
	return number.Or(number.Lsh(number, 64), new(big.Int).SetUint64(p.Order))
}

func signatureText(signature []byte) string {
	if len(signature) == 0 {
		return ""
	}
	return base58.Encode(signature)
}
