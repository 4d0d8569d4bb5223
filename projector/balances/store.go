package balances

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	conn     driver.Conn
	database string
	curve    curve
}

// NewClickHouse returns a store that writes to the tables of database. Its Insert must not be
// called concurrently.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database, curve: curve{}}
}

// Check compares the tables with the columns that this binary writes. One error names everything
// that is missing or of another type.
func (c *ClickHouse) Check(ctx context.Context) error {
	for name, columns := range tables() {
		if err := clickhouse.CheckColumns(ctx, c.conn, c.database, name, columns); err != nil {
			return fmt.Errorf("balances: %w", err)
		}
	}
	return nil
}

// Columns returns the columns that the projector of balances writes, by table.
func Columns() map[string][]string {
	columns := map[string][]string{}
	for name, list := range tables() {
		columns[name] = clickhouse.Names(list)
	}
	return columns
}

// Retryable reports whether the server may take the same batch later.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }

// Insert makes the batch durable. balance_mints_raw comes last: whoever finds there that a mint
// waits to be counted finds its changes too.
func (c *ClickHouse) Insert(ctx context.Context, batch *Batch) error {
	inserts, beside := errgroup.WithContext(ctx)
	for _, insert := range []func(context.Context, *Batch) error{
		c.insertChanges, c.insertAccounts, c.insertHoldings, c.insertTransfers, c.insertWalletTransfers, c.insertStates, c.insertSpends,
	} {
		inserts.Go(func() error { return insert(beside, batch) })
	}
	if err := inserts.Wait(); err != nil {
		return err
	}
	return c.insertMints(ctx, batch)
}

// KeepHistory sets for how many days changes and transfers are kept, counted from the day of their
// insertion; 0 means for ever. It alters a table only if its setting differs. cluster is as in
// clickhouse.Options.
func (c *ClickHouse) KeepHistory(ctx context.Context, days int, cluster string) error {
	for _, table := range []string{tableChanges, tableTransfers, tableWalletTransfers} {
		if err := c.keep(ctx, table, days, cluster); err != nil {
			return fmt.Errorf("balances: change how long rows of %s are kept: %w", table, err)
		}
	}
	return nil
}

func (c *ClickHouse) keep(ctx context.Context, table string, days int, cluster string) error {
	onCluster := ""
	if cluster != "" {
		table, onCluster = clickhouse.LocalTable(table), " ON CLUSTER '"+cluster+"'"
	}
	var created string
	if err := c.conn.QueryRow(ctx, "SELECT create_table_query FROM system.tables WHERE database = ? AND name = ?", c.database, table).Scan(&created); err != nil {
		return err
	}
	const ttl = " TTL stored_on + toIntervalDay("
	wanted := ttl + strconv.Itoa(days) + ")"
	if days == 0 && !strings.Contains(created, ttl) || days > 0 && strings.Contains(created, wanted) {
		return nil
	}
	change := " MODIFY" + wanted
	if days == 0 {
		change = " REMOVE TTL"
	}
	return c.conn.Exec(ctx, "ALTER TABLE "+c.database+"."+table+onCluster+change)
}

// curve remembers which owners are points of the ed25519 curve, as wallets are. Finding out takes
// some ten microseconds, and few owners have most accounts.
type curve map[pubkey.Key]bool

// maxCurve bounds the owners that are remembered, 33 bytes each. At the bound all are forgotten.
const maxCurve = 200_000

func (c curve) has(owner pubkey.Key) bool {
	on, known := c[owner]
	if !known {
		if len(c) >= maxCurve {
			clear(c)
		}
		on = tokenaccount.OnCurve(owner)
		c[owner] = on
	}
	return on
}

// insert sends rows in one INSERT.
func (c *ClickHouse) insert(ctx context.Context, table string, count int, fill func(add func(...any) error) error) error {
	return clickhouse.InsertRows(ctx, c.conn, c.database, table, tables()[table], count, fill)
}

// number returns a latest state's position as ClickHouse's UInt128.
func (l *latest) number() *big.Int { return l.position.BigInt() }

// text returns a key in base58; empty for the zero key, which stands for none.
func text(key pubkey.Key) string {
	if key.IsZero() {
		return ""
	}
	return key.String()
}

// raw returns a key for a column of 32 bytes; zeros for one that a message does not have.
func raw(key []byte) string {
	if len(key) == 0 {
		return string(make([]byte, pubkey.Size))
	}
	return string(key)
}
