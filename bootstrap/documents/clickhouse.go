package documents

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ClickHouse is the source that a node's tables are.
type ClickHouse struct {
	conn     driver.Conn
	database string
}

// NewClickHouse reads tokens_raw of database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database}
}

// Wanted scans the whole table and returns limit rows at most. The numbers in the query are those
// of registry.Register: 9 and 15 are URIs, 19 is the document.
func (c *ClickHouse) Wanted(ctx context.Context, after Cursor, limit int) ([]Wanted, error) {
	rows, err := c.conn.Query(ctx, `SELECT class, mint, uri, slot FROM (
			SELECT mint, assumeNotNull(metaplex_uri) AS uri,
				toUInt8(multiIf(ifNull(daily_volume_usd, 0) > 0, 0, isNotNull(last_seen_at), 1, 2)) AS class,
				toUInt64(bitShiftRight(arrayMax(arrayMap(f -> f.3, arrayFilter(f -> f.1 IN (9, 15), facts))), 64)) AS slot
			FROM `+c.database+`.tokens_raw FINAL
			WHERE is_member AND isNotNull(metaplex_uri) AND NOT arrayExists(f -> f.1 = 19, facts)
		) WHERE (class, mint) > ($1, $2) ORDER BY class, mint LIMIT $3`, after.Class, after.Mint, limit)
	if err != nil {
		return nil, fmt.Errorf("look for tokens without a document: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var list []Wanted
	for rows.Next() {
		var w Wanted
		var mint string
		if err := rows.Scan(&w.Class, &mint, &w.URI, &w.Slot); err != nil {
			return nil, fmt.Errorf("read token without a document: %w", err)
		}
		if w.Mint, err = pubkey.Parse(mint); err != nil {
			return nil, fmt.Errorf("read token without a document: mint %q: %w", mint, err)
		}
		list = append(list, w)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for tokens without a document: %w", err)
	}
	return list, nil
}
