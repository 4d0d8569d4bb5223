package holders

import (
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

//go:embed sql/*.sql
var statements embed.FS

// maxChanged is how many mints one round takes of those that were counted before, and also of those
// that were not. So whoever makes a million mints does not delay the counts of the others. maxLate
// is how many mints of Late one round takes.
const maxChanged, maxLate = 1000, 20_000

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

// Retryable reports whether the same call may succeed later.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }

// Changed implements Store.
func (c *ClickHouse) Changed(ctx context.Context) ([]Mint, error) {
	return c.mints(ctx, `SELECT b.mint, b.touched, h.accounts, h.changes
FROM (`+c.book()+`) AS b
LEFT JOIN (SELECT mint, argMax(touched, counted_at) AS touched, argMax(accounts, counted_at) AS accounts, argMax(changes, counted_at) AS changes FROM `+c.database+`.holder_counts_raw GROUP BY mint) AS h ON b.mint = h.mint
WHERE b.touched != h.touched
ORDER BY rand() LIMIT `+strconv.Itoa(maxChanged)+" BY h.accounts > 0")
}

// Late implements Store.
func (c *ClickHouse) Late(ctx context.Context) ([]Mint, error) {
	query, err := c.statement("late")
	if err != nil {
		return nil, err
	}
	return c.mints(ctx, query+" LIMIT "+strconv.Itoa(maxLate))
}

// mints returns the rows of a query.
func (c *ClickHouse) mints(ctx context.Context, query string) ([]Mint, error) {
	var list []Mint
	err := clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		list = append(list, Mint{})
		last := &list[len(list)-1]
		return rows.Scan(&last.Mint, &last.Touched, &last.Accounts, &last.Changes)
	}, query)
	return list, err
}

// book returns the query for Mint.Touched: a mint's offsets in the topic of balances, and in that
// of bases.
func (c *ClickHouse) book() string {
	return "SELECT mint, sum(upto) AS touched FROM (SELECT mint, partition, max(touched) AS upto FROM " + c.database + ".balance_mints_raw GROUP BY mint, partition) GROUP BY mint"
}

// Reach implements Store. Changes expire by whole parts of their table. If the first records of a
// partition were gone when the tables were made, all its changes are held only after the slot of
// the first record that was not gone.
func (c *ClickHouse) Reach(ctx context.Context) (Reach, error) {
	reach := Reach{Begun: map[int32]int64{}}
	query, err := c.statement("whole")
	if err != nil {
		return reach, err
	}
	if err := c.conn.QueryRow(ctx, query).Scan(&reach.Whole, &reach.Begins, &reach.Last); err != nil {
		return reach, fmt.Errorf("look for gaps: %w", err)
	}
	if err := c.conn.QueryRow(ctx, "SELECT min(slot) FROM "+c.database+".balance_changes_raw").Scan(&reach.Floor); err != nil {
		return reach, fmt.Errorf("look for the oldest changes: %w", err)
	}
	err = clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		var partition int32
		var offset int64
		var slot uint64
		if err := rows.Scan(&partition, &offset, &slot); err != nil {
			return err
		}
		reach.Begun[partition] = offset
		if partition >= 0 && offset > 0 {
			reach.Floor = max(reach.Floor, slot+1)
		}
		return nil
	}, "SELECT partition, (min(begun) AS first).1, first.2 FROM "+c.database+".balance_mints_raw GROUP BY partition")
	if err != nil {
		return reach, fmt.Errorf("look for the first records: %w", err)
	}
	return reach, nil
}

// NoteReach implements Store.
func (c *ClickHouse) NoteReach(ctx context.Context, reach Reach) error {
	return c.conn.Exec(ctx, "INSERT INTO "+c.database+".balance_reach_raw (name, whole, begins, floor, at) VALUES ('balances', ?, ?, ?, now64(3))", reach.Whole, reach.Begins, reach.Floor)
}

// Count implements Store.
func (c *ClickHouse) Count(ctx context.Context, mints []Mint, reach Reach) error {
	quoted, touched := make([]string, len(mints)), make([]string, len(mints))
	for i, m := range mints {
		quoted[i], touched[i] = clickhouse.Literal(m.Mint), toInt64(m.Touched)
	}
	list := strings.Join(quoted, ", ")
	// In SQL an empty list has no type, so each list begins with an element for no partition.
	partitions, begun := []string{toInt64(math.MaxInt64)}, []string{toInt64(0)}
	for partition, offset := range reach.Begun {
		partitions, begun = append(partitions, toInt64(int64(partition))), append(begun, toInt64(offset))
	}
	for _, name := range []string{"count", "hour"} {
		query, err := c.statement(name, "{mints}", list, "{touched}", strings.Join(touched, ", "), "{burned}", c.burned,
			"{whole}", strconv.FormatUint(reach.Whole, 10), "{begins}", strconv.FormatUint(reach.Begins, 10), "{floor}", strconv.FormatUint(reach.Floor, 10),
			"{partitions}", strings.Join(partitions, ", "), "{begun}", strings.Join(begun, ", "))
		if err != nil {
			return err
		}
		if err := c.conn.Exec(ctx, query); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// toInt64 returns a number as a literal of the type Int64.
func toInt64(n int64) string { return "toInt64(" + strconv.FormatInt(n, 10) + ")" }

// quiet is for how many slots a mint must not have changed to be compared: two projectors write
// balances and supplies, and one may be behind.
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
