package bases

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

//go:embed sql/*.sql
var statements embed.FS

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	*holders.ClickHouse
	conn     driver.Conn
	database string
}

// NewClickHouse returns a store on the tables of database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{holders.NewClickHouse(conn, database), conn, database}
}

// Tables implements Store.
func (c *ClickHouse) Tables(ctx context.Context) (string, error) {
	return clickhouse.DatabaseID(ctx, c.conn, c.database)
}

// Now implements Store.
func (c *ClickHouse) Now(ctx context.Context) (now time.Time, err error) {
	return now, c.conn.QueryRow(ctx, "SELECT now64(3, 'UTC')").Scan(&now)
}

// Last implements Store.
func (c *ClickHouse) Last(ctx context.Context) (last Row, err error) {
	err = clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		return rows.Scan(&last.Slot, &last.Began, &last.Ended, &last.Accounts, &last.Mints, &last.Complete, &last.Bytes)
	}, "SELECT slot, began, ended, accounts, mints, complete, bytes FROM "+c.database+".balance_bases_raw ORDER BY began DESC LIMIT 1")
	return last, err
}

// Note implements Store.
func (c *ClickHouse) Note(ctx context.Context, base Row) error {
	return c.conn.Exec(ctx, "INSERT INTO "+c.database+".balance_bases_raw (slot, began, ended, accounts, mints, complete, bytes) VALUES (?, fromUnixTimestamp64Milli(?, 'UTC'), fromUnixTimestamp64Milli(?, 'UTC'), ?, ?, ?, ?)",
		base.Slot, base.Began.UnixMilli(), base.Ended.UnixMilli(), base.Accounts, base.Mints, base.Complete, base.Bytes)
}

// Uncounted implements Store.
func (c *ClickHouse) Uncounted(ctx context.Context, since time.Time) (count uint64, err error) {
	query := `SELECT count() FROM (SELECT mint, sum(upto) AS touched FROM
	(SELECT mint, partition, max(touched) AS upto FROM {database}.balance_mints_raw GROUP BY mint, partition) GROUP BY mint) AS b
LEFT JOIN (SELECT mint, touched, counted_at FROM {database}.holder_counts_raw FINAL) AS c ON b.mint = c.mint
WHERE b.touched != c.touched AND c.counted_at < fromUnixTimestamp64Milli({since:Int64}, 'UTC')`
	err = c.conn.QueryRow(ctx, strings.ReplaceAll(query, "{database}", c.database), clickhouse.Named("since", since.UnixMilli())).Scan(&count)
	return count, err
}

// Page implements Store.
func (c *ClickHouse) Page(ctx context.Context, after string, limit int) (of Range, more bool, err error) {
	of.After = after
	var mints uint64
	err = c.conn.QueryRow(ctx, "SELECT max(mint), count() FROM (SELECT DISTINCT mint FROM "+c.database+".balance_mints_raw WHERE mint > {after:String} ORDER BY mint LIMIT {limit:UInt32})",
		clickhouse.Named("after", after), clickhouse.Named("limit", limit)).Scan(&of.Last, &mints)
	return of, mints > 0, err
}

// rows calls visit for each row of sql/NAME.sql.
func (c *ClickHouse) rows(ctx context.Context, name string, of Range, visit func(driver.Rows) error, args ...any) error {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return fmt.Errorf("read statement: %w", err)
	}
	args = append(args, clickhouse.Named("after", of.After), clickhouse.Named("last", of.Last))
	if err := clickhouse.Each(ctx, c.conn, visit, strings.ReplaceAll(string(text), "{database}", c.database), args...); err != nil {
		return fmt.Errorf("read the %s of a base: %w", name, err)
	}
	return nil
}

// Accounts implements Store.
func (c *ClickHouse) Accounts(ctx context.Context, of Range, visit func(string, *eventspb.HeldAccount) error) error {
	return c.rows(ctx, "accounts", of, func(rows driver.Rows) error {
		var mint, account, owner, delegate string
		var held, opened, frozen, approved eventspb.FactPosition
		h := new(eventspb.HeldAccount)
		if err := rows.Scan(&mint, &account, &owner, &h.Amount, &held.Slot, &held.Place, &h.BlockTime, &opened.Slot, &opened.Place,
			&frozen.Slot, &frozen.Place, &h.IsFrozen, &approved.Slot, &approved.Place, &h.IsApprovalKnown, &delegate, &h.DelegatedAmount); err != nil {
			return err
		}
		h.Account, h.Owner, h.Delegate = []byte(account), known(owner), known(delegate)
		h.Position, h.Opened, h.Frozen, h.Approved = some(&held), some(&opened), some(&frozen), some(&approved)
		return visit(mint, h)
	})
}

// Spends implements Store.
func (c *ClickHouse) Spends(ctx context.Context, of Range, visit func(string, *eventspb.DelegateSpend) error) error {
	return c.rows(ctx, "spends", of, func(rows driver.Rows) error {
		var mint, account, delegate string
		at, s := new(eventspb.FactPosition), new(eventspb.DelegateSpend)
		if err := rows.Scan(&mint, &account, &at.Slot, &at.Place, &delegate, &s.Amount); err != nil {
			return err
		}
		s.Account, s.Position, s.Delegate = []byte(account), at, known(delegate)
		return visit(mint, s)
	})
}

// Marks implements Store.
func (c *ClickHouse) Marks(ctx context.Context, of Range, began time.Time, visit func(Mark) error) error {
	return c.rows(ctx, "marks", of, func(rows driver.Rows) error {
		var m Mark
		if err := rows.Scan(&m.Mint, &m.First, &m.Based, &m.BasedFrom, &m.Since); err != nil {
			return err
		}
		return visit(m)
	}, clickhouse.Named("began", began.UnixMilli()))
}

// known returns the bytes of a raw key; none for zeros, which stand for no key.
func known(key string) []byte {
	if strings.Trim(key, "\x00") == "" {
		return nil
	}
	return []byte(key)
}

// some returns a position; nil for the zero one, which stands for no fact.
func some(p *eventspb.FactPosition) *eventspb.FactPosition {
	if p.GetSlot() == 0 && p.GetPlace() == 0 {
		return nil
	}
	return p
}
