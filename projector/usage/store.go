package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const table = "key_usage_1m_raw"

func columns() []clickhouse.Column {
	const low = "LowCardinality(String)"
	return []clickhouse.Column{
		{Name: "minute", Type: "DateTime('UTC')"}, {Name: "product", Type: low}, {Name: "key", Type: "String"}, {Name: "method", Type: low},
		{Name: "node", Type: low}, {Name: "epoch", Type: "UInt64"}, {Name: "sequence", Type: "UInt64"}, {Name: "requests", Type: "UInt64"},
		{Name: "refused", Type: "UInt64"}, {Name: "bytes", Type: "UInt64"}, {Name: "units", Type: "UInt64"}, {Name: "streams", Type: "UInt64"},
		{Name: "addresses", Type: "UInt64"},
	}
}

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	conn     driver.Conn
	database string
}

// NewClickHouse returns a store that writes to the table of database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database}
}

// Check compares the table with the columns that this binary writes.
func (c *ClickHouse) Check(ctx context.Context) error {
	if err := clickhouse.CheckColumns(ctx, c.conn, c.database, table, columns()); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	return nil
}

// Retryable reports whether the server may take the same rows later.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }

// Insert makes the rows durable, in one INSERT.
func (c *ClickHouse) Insert(ctx context.Context, rows []*eventspb.Usage) error {
	return clickhouse.InsertRows(ctx, c.conn, c.database, table, columns(), len(rows), func(add func(...any) error) error {
		for _, r := range rows {
			if err := add(time.Unix(r.GetMinute(), 0).UTC(), r.GetProduct(), r.GetKey(), r.GetMethod(), r.GetNode(), r.GetEpoch(), r.GetSequence(),
				r.GetRequests(), r.GetRefused(), r.GetBytes(), r.GetUnits(), r.GetStreams(), r.GetAddresses()); err != nil {
				return err
			}
		}
		return nil
	})
}
