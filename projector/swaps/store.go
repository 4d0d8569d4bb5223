package swaps

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/mr-tron/base58"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
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

// Check compares the tables with the columns that this binary writes. One error names everything
// that is missing or of another type.
func (c *ClickHouse) Check(ctx context.Context) error {
	for name, columns := range tables() {
		if err := clickhouse.CheckColumns(ctx, c.conn, c.database, name, columns); err != nil {
			return fmt.Errorf("swaps: %w", err)
		}
	}
	return nil
}

func tables() map[string][]clickhouse.Column {
	return map[string][]clickhouse.Column{
		tableSwaps: swapColumns(), tableRoutes: routeColumns(), tableLiquidity: liquidityColumns(), tablePools: poolColumns(),
		tablePoolReserves: poolReserveColumns(), tableLastTrades: lastTradeColumns(), tableSwapMinutes: swapMinuteColumns(),
	}
}

// Columns returns the columns that the projector of swaps writes, by table.
func Columns() map[string][]string {
	columns := map[string][]string{}
	for name, list := range tables() {
		columns[name] = clickhouse.Names(list)
	}
	return columns
}

// KeepSignatures sets for how many days signatures are kept; 0 means for ever. It alters the table
// only if its setting differs. cluster is as in clickhouse.Options. The rows that are stored
// already follow at their next merges.
func (c *ClickHouse) KeepSignatures(ctx context.Context, days int, cluster string) error {
	altered := tableSwaps
	if cluster != "" {
		altered = clickhouse.LocalTable(tableSwaps)
	}
	var table string
	if err := c.conn.QueryRow(ctx, "SELECT create_table_query FROM system.tables WHERE database = ? AND name = ?", c.database, altered).Scan(&table); err != nil {
		return fmt.Errorf("swaps: read how long signatures are kept: %w", err)
	}
	const ttl = " TTL stored_on + toIntervalDay("
	wanted := ttl + strconv.Itoa(days) + ")"
	if days == 0 && !strings.Contains(table, ttl) || days > 0 && strings.Contains(table, wanted) {
		return nil
	}
	if days == 0 {
		wanted = " REMOVE TTL"
	}
	onCluster := ""
	if cluster != "" {
		onCluster = " ON CLUSTER '" + cluster + "'"
	}
	if err := c.conn.Exec(ctx, "ALTER TABLE "+c.database+"."+altered+onCluster+" MODIFY COLUMN signature_rest"+wanted); err != nil {
		return fmt.Errorf("swaps: change how long signatures are kept: %w", err)
	}
	return nil
}

// Retryable reports whether the server may take the same batch later.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }

// Insert makes the batch durable. It writes the tables concurrently, since each insert waits for
// the disk. swap_minutes_raw comes last: whoever finds a minute there finds its legs too. A kill
// before that leaves the offsets uncommitted, so the batch comes again.
func (c *ClickHouse) Insert(ctx context.Context, batch *Batch) error {
	tables, beside := errgroup.WithContext(ctx)
	for _, insert := range []func(context.Context, *Batch) error{
		c.insertLegsAndRoutes, c.insertLiquidity, c.insertPools, c.insertPoolReserves, c.insertLastTrades,
	} {
		tables.Go(func() error { return insert(beside, batch) })
	}
	if err := tables.Wait(); err != nil {
		return err
	}
	return c.insertSwapMinutes(ctx, batch)
}

// insertLegsAndRoutes inserts legs, then routes. The two are not concurrent because both fill one
// cache of texts.
func (c *ClickHouse) insertLegsAndRoutes(ctx context.Context, batch *Batch) error {
	cache := texts{}
	if err := c.insertSwaps(ctx, batch, cache); err != nil {
		return err
	}
	return c.insertRoutes(ctx, batch, cache)
}

// texts caches the base58 of keys: many legs have few pools and mints.
type texts map[pubkey.Key]string

// of returns a key of a message in base58; empty if the message does not have it.
func (t texts) of(raw []byte) string {
	if len(raw) != pubkey.Size {
		return ""
	}
	key := pubkey.Key(raw)
	text, ok := t[key]
	if !ok {
		text = key.String()
		t[key] = text
	}
	return text
}

// keyText returns a key in base58; empty for the zero key, which stands for none.
func keyText(key pubkey.Key) string {
	if key.IsZero() {
		return ""
	}
	return key.String()
}

// insert sends rows in one INSERT.
func (c *ClickHouse) insert(ctx context.Context, table string, columns []clickhouse.Column, rows int, fill func(add func(values ...any) error) error) error {
	return clickhouse.InsertRows(ctx, c.conn, c.database, table, columns, rows, fill)
}

func signatureText(signature []byte) string {
	if len(signature) == 0 {
		return ""
	}
	return base58.Encode(signature)
}
