package holders

import (
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

//go:embed sql/*.sql
var statements embed.FS

// maxChanged is how many changed mints one round takes.
const maxChanged = 20_000

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	conn     driver.Conn
	database string
	burned   string
}

// NewClickHouse returns a store on the tables of database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	var burned []string
	for _, address := range schemas.BurnAddresses() {
		key := pubkey.MustParse(address)
		burned = append(burned, "unhex('"+hex.EncodeToString(key[:])+"')")
	}
	return &ClickHouse{conn: conn, database: database, burned: strings.Join(burned, ", ")}
}

// Retryable reports whether the server may do the same later.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }

// Changed implements Store.
func (c *ClickHouse) Changed(ctx context.Context) ([]Mint, error) {
	return c.mints(ctx, `SELECT b.mint, b.touched, h.accounts, h.changes
FROM (SELECT mint, max(touched) AS touched FROM `+c.database+`.balance_mints_raw GROUP BY mint) AS b
LEFT JOIN (SELECT mint, argMax(touched, counted_at) AS touched, argMax(accounts, counted_at) AS accounts, argMax(changes, counted_at) AS changes FROM `+c.database+`.holder_counts_raw GROUP BY mint) AS h ON b.mint = h.mint
WHERE b.touched != h.touched`)
}

// Late implements Store.
func (c *ClickHouse) Late(ctx context.Context) ([]Mint, error) {
	query, err := c.statement("late")
	if err != nil {
		return nil, err
	}
	return c.mints(ctx, query)
}

// mints returns the rows of a query, at most maxChanged.
func (c *ClickHouse) mints(ctx context.Context, query string) ([]Mint, error) {
	var list []Mint
	err := clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		list = append(list, Mint{})
		last := &list[len(list)-1]
		return rows.Scan(&last.Mint, &last.Touched, &last.Accounts, &last.Changes)
	}, query+" LIMIT "+strconv.Itoa(maxChanged))
	return list, err
}

// Whole implements Store.
func (c *ClickHouse) Whole(ctx context.Context) (uint64, error) {
	query, err := c.statement("whole")
	if err != nil {
		return 0, err
	}
	var slot uint64
	return slot, c.conn.QueryRow(ctx, query).Scan(&slot)
}

// Floor implements Store. Changes go by whole parts of the table.
func (c *ClickHouse) Floor(ctx context.Context) (uint64, error) {
	var slot uint64
	return slot, c.conn.QueryRow(ctx, "SELECT min(slot) FROM "+c.database+".balance_changes_raw").Scan(&slot)
}

// Reach implements Store.
func (c *ClickHouse) Reach(ctx context.Context, whole, floor uint64) error {
	return c.conn.Exec(ctx, "INSERT INTO "+c.database+".balance_reach_raw (name, whole, floor, at) VALUES ('balances', ?, ?, now64(3))", whole, floor)
}

// Count implements Store.
func (c *ClickHouse) Count(ctx context.Context, mints []Mint, whole, floor uint64) error {
	quoted, touched := make([]string, len(mints)), make([]string, len(mints))
	for i, m := range mints {
		quoted[i], touched[i] = clickhouse.Literal(m.Mint), "toInt64("+strconv.FormatInt(m.Touched, 10)+")"
	}
	list := strings.Join(quoted, ", ")
	for _, name := range []string{"count", "hour"} {
		query, err := c.statement(name, "{mints}", list, "{touched}", strings.Join(touched, ", "), "{burned}", c.burned,
			"{whole}", strconv.FormatUint(whole, 10), "{floor}", strconv.FormatUint(floor, 10))
		if err != nil {
			return err
		}
		if err := c.conn.Exec(ctx, query); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// quiet is for how many slots a mint that is compared must not have changed: balances and supplies
// come by two projectors.
const quiet = "150"

// Differ implements Store.
func (c *ClickHouse) Differ(ctx context.Context, limit int, again []Difference) (compared int, differ []Difference, err error) {
	first := []string{"''"}
	for _, d := range again {
		first = append(first, clickhouse.Literal(d.Mint))
	}
	err = clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		var d Difference
		if err := rows.Scan(&d.Mint, &d.AsOf, &d.Missing); err != nil {
			return err
		}
		compared++
		if d.Missing != "0" {
			differ = append(differ, d)
		}
		return nil
	}, "SELECT mint, as_of_slot, toString(assumeNotNull(missing)) FROM "+c.database+".supply_conservation WHERE complete AND NOT is_confidential AND isNotNull(missing) AND as_of_slot + "+quiet+" < (SELECT max(slot) FROM "+c.database+".slots_raw) ORDER BY mint IN ("+strings.Join(first, ", ")+") DESC, rand() LIMIT "+strconv.Itoa(limit))
	return compared, differ, err
}

// statement returns sql/NAME.sql with its placeholders replaced.
func (c *ClickHouse) statement(name string, values ...string) (string, error) {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("read statement: %w", err)
	}
	return strings.NewReplacer(append(values, "{database}", c.database)...).Replace(string(text)), nil
}
