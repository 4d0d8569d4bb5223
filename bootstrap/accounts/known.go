package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Tables is a Known that reads the tables in ClickHouse.
type Tables struct {
	conn     driver.Conn
	database string
}

// NewTables returns what the tables of a database know.
func NewTables(conn driver.Conn, database string) *Tables {
	return &Tables{conn: conn, database: database}
}

// Program implements Known.
func (t *Tables) Program(ctx context.Context, mint pubkey.Key) (program pubkey.Key, ok bool, err error) {
	var is2022 bool
	row := t.conn.QueryRow(ctx, "SELECT is_token22 FROM "+t.database+".tokens_raw FINAL WHERE mint = ?", mint.String())
	if err := row.Scan(&is2022); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return pubkey.Key{}, false, nil
		}
		return pubkey.Key{}, false, fmt.Errorf("read the program of %s: %w", mint, err)
	}
	if is2022 {
		return tokenaccount.ProgramToken2022, true, nil
	}
	return tokenaccount.ProgramToken, true, nil
}

// Balances implements Known.
func (t *Tables) Balances(ctx context.Context, mint pubkey.Key) (map[pubkey.Key]Balance, error) {
	known := map[pubkey.Key]Balance{}
	err := clickhouse.Each(ctx, t.conn, func(rows driver.Rows) error {
		var account, owner string
		var held Balance
		if err := rows.Scan(&account, &owner, &held.Amount); err != nil {
			return err
		}
		copy(held.Owner[:], owner)
		var key pubkey.Key
		copy(key[:], account)
		known[key] = held
		return nil
	}, "SELECT account, owner, amount FROM (SELECT * FROM "+t.database+".token_accounts_raw FINAL WHERE mint = ?) WHERE open", mint.String())
	return known, err
}

// Top returns the mints with the highest volume of the last 24 hours, at most limit.
func (t *Tables) Top(ctx context.Context, limit int) ([]pubkey.Key, error) {
	return t.mints(ctx, "ORDER BY daily_volume_usd DESC NULLS LAST, mint LIMIT ?", limit)
}

// Above returns the mints that traded for usd US dollars or more in the last 24 hours.
func (t *Tables) Above(ctx context.Context, usd float64) ([]pubkey.Key, error) {
	return t.mints(ctx, "WHERE daily_volume_usd >= ? ORDER BY mint", usd)
}

// mints returns the mints that a clause of SQL about their volume selects.
func (t *Tables) mints(ctx context.Context, clause string, args ...any) ([]pubkey.Key, error) {
	var mints []pubkey.Key
	err := clickhouse.Each(ctx, t.conn, func(rows driver.Rows) error {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		mint, err := pubkey.Parse(text)
		if err != nil {
			return fmt.Errorf("mint %q: %w", text, err)
		}
		mints = append(mints, mint)
		return nil
	}, "SELECT mint FROM "+t.database+".tokens "+clause, args...)
	if err != nil {
		return nil, fmt.Errorf("read mints by their volume: %w", err)
	}
	return mints, nil
}

// OpenBefore calls see for each token account and owner for which the latest fact is from before
// the end of a slot, and says that the account is open and belongs to the owner. The owner is zero
// if it is not known. An account that changed its owner in blocks that were not seen is there for
// its old owner, whatever the account's own latest fact is.
func (t *Tables) OpenBefore(ctx context.Context, slot uint64, see func(mint, account, owner pubkey.Key, amount uint64) error) error {
	return clickhouse.Each(ctx, t.conn, func(rows driver.Rows) error {
		var ownerText, mintText, raw string
		var amount uint64
		if err := rows.Scan(&ownerText, &mintText, &raw, &amount); err != nil {
			return err
		}
		var owner, account pubkey.Key
		copy(account[:], raw)
		mint, err := pubkey.Parse(mintText)
		if err == nil && ownerText != "" {
			owner, err = pubkey.Parse(ownerText)
		}
		if err != nil {
			return fmt.Errorf("mint %q, owner %q: %w", mintText, ownerText, err)
		}
		return see(mint, account, owner, amount)
	}, "SELECT owner, mint, account, amount FROM (SELECT * FROM "+t.database+".wallet_accounts_raw FINAL) WHERE open AND position < toUInt128(?)",
		schemas.EndOfSlot(slot).BigInt().String())
}
