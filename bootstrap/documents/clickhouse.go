package documents

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ClickHouse is a Source that reads a node's tables.
type ClickHouse struct {
	conn     driver.Conn
	database string
}

// NewClickHouse returns a Source that reads tokens_raw of a database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database}
}

// maxHosts bounds the hosts that are walked on their own: those with the most tokens.
const maxHosts = 2000

// wanted selects the tokens with a URI and no document. host only groups their requests. It is the
// host and port of an http(s) URI, ipfs or ar for a URI with that scheme, and empty for any other
// text. The numbers are those of registry.Register: 9 and 15 are URIs, 19 is the document.
const wanted = `(
		SELECT mint, assumeNotNull(metaplex_uri) AS uri,
			toUInt8(multiIf(ifNull(daily_volume_usd, 0) > 0, 0, isNotNull(last_seen_at), 1, 2)) AS class,
			lower(extract(uri, '^(?:(?i)https?://|(?:ipfs|ar):)?')) AS scheme,
			multiIf(scheme IN ('ipfs:', 'ar:'), replaceOne(scheme, ':', ''), scheme = '', '', lower(extract(uri, '^[a-zA-Z]+://([a-zA-Z0-9.:-]{1,260})(?:[/?#]|$)'))) AS host,
			toUInt64(bitShiftRight(arrayMax(arrayMap(f -> f.3, arrayFilter(f -> f.1 IN (9, 15), facts))), 64)) AS slot
		FROM %s.tokens_raw FINAL
		WHERE is_member AND isNotNull(metaplex_uri) AND NOT arrayExists(f -> f.1 = 19, facts)
	)`

// Count implements Source. It scans the whole table.
func (c *ClickHouse) Count(ctx context.Context) ([]Count, error) {
	counts, err := clickhouse.List(ctx, c.conn, func(rows driver.Rows, count *Count) error { return rows.Scan(&count.Host, &count.Tokens) }, `SELECT if(n <= {hosts:UInt32}, host, '') AS lane, toInt64(sum(tokens)) FROM (
			SELECT host, count() AS tokens, row_number() OVER (ORDER BY host = '', tokens DESC, host) AS n
			FROM `+fmt.Sprintf(wanted, c.database)+` GROUP BY host
		) GROUP BY lane`,
		clickhouse.Named("hosts", uint32(maxHosts)))
	if err != nil {
		return nil, fmt.Errorf("count tokens without a document: %w", err)
	}
	return counts, nil
}

// Wanted implements Source. It scans the whole table, in the order of its sorting key.
func (c *ClickHouse) Wanted(ctx context.Context, hosts []string, places []Place, limit, total int) ([]Wanted, error) {
	var names, mints []string
	var classes []uint32 // the driver takes a []uint8 for text
	for _, place := range places {
		names, mints, classes = append(names, place.Host), append(mints, place.After.Mint), append(classes, uint32(place.After.Class))
	}
	list, err := clickhouse.List(ctx, c.conn, func(rows driver.Rows, w *Wanted) error {
		var mint string
		var place uint32
		if err := rows.Scan(&w.Host, &w.Class, &mint, &w.URI, &w.Slot, &place); err != nil {
			return err
		}
		var err error
		if w.Mint, err = pubkey.Parse(mint); err != nil {
			return fmt.Errorf("mint %q: %w", mint, err)
		}
		return nil
	}, `WITH {names:Array(String)} AS names
		SELECT if(host IN {hosts:Array(String)}, host, '') AS lane, class, mint, uri, slot,
			transform(lane, names, arrayEnumerate(names), toUInt32(0)) AS place
		FROM `+fmt.Sprintf(wanted, c.database)+`
		WHERE place > 0 AND class = {classes:Array(UInt32)}[place] AND mint > {mints:Array(String)}[place]
		ORDER BY mint LIMIT {limit:UInt32} BY lane LIMIT {total:UInt32}`,
		clickhouse.Named("names", names), clickhouse.Named("hosts", hosts), clickhouse.Named("classes", classes), clickhouse.Named("mints", mints),
		clickhouse.Named("limit", limit), clickhouse.Named("total", total))
	if err != nil {
		return nil, fmt.Errorf("look for tokens without a document: %w", err)
	}
	return list, nil
}
