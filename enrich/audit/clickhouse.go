package audit

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ClickHouse is the registry that the projector keeps.
type ClickHouse struct {
	conn     driver.Conn
	database string
}

// NewClickHouse returns the registry in the tables of a database.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database}
}

// Sample takes the n mints whose hash with the seed is lowest, which reads only one column of the
// table. A mint that ingest adds later changes the sample only if its hash is among the lowest.
func (c *ClickHouse) Sample(ctx context.Context, n int, seed uint64) ([]pubkey.Key, error) {
	query := fmt.Sprintf("SELECT mint FROM `%s`.tokens ORDER BY sipHash64(mint, toUInt64(%d)), mint", c.database, seed)
	if n > 0 {
		query += fmt.Sprintf(" LIMIT %d", n)
	}
	return clickhouse.List(ctx, c.conn, func(rows driver.Rows, mint *pubkey.Key) error {
		var text string
		err := rows.Scan(&text)
		if err == nil {
			*mint, err = keyOf(text)
		}
		return err
	}, query)
}

// keyOf parses a mint as the tables have it, in base58.
func keyOf(text string) (pubkey.Key, error) {
	mint, err := pubkey.Parse(text)
	if err != nil {
		return mint, fmt.Errorf("mint %q of the registry: %w", text, err)
	}
	return mint, nil
}

// Slot returns the highest slot of the ledger that is not dead.
func (c *ClickHouse) Slot(ctx context.Context) (uint64, error) {
	var slot uint64
	err := c.conn.QueryRow(ctx, fmt.Sprintf("SELECT max(slot) FROM `%s`.slots_raw WHERE status != 'dead'", c.database)).Scan(&slot)
	return slot, err
}

// Rows reads tokens_raw, where one row has the columns of a mint and the facts behind them, so that
// both are of one moment. It includes mints that are no longer members. A fact's position is a
// UInt128: the slot in the upper 64 bits, the order in the lower.
func (c *ClickHouse) Rows(ctx context.Context, mints []pubkey.Key) (map[pubkey.Key]Row, error) {
	texts := make([]string, len(mints))
	for i, mint := range mints {
		texts[i] = mint.String()
	}
	found := make(map[pubkey.Key]Row, len(mints))
	err := clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		mint, row, err := scanRow(rows)
		found[mint] = row
		return err
	}, fmt.Sprintf("SELECT mint, symbol, name, is_token22, ifNull(toString(supply), ''), ifNull(mint_authority, ''),"+
		" ifNull(freeze_authority, ''), ifNull(metaplex_uri, ''), ifNull(update_authority, ''),"+
		" arrayMap(f -> f.1, facts), arrayMap(f -> f.2, facts), arrayMap(f -> toUInt64(bitShiftRight(f.3, 64)), facts),"+
		" arrayMap(f -> toUInt64(bitAnd(f.3, toUInt128(18446744073709551615))), facts), arrayMap(f -> f.4, facts)"+
		" FROM `%s`.tokens_raw FINAL WHERE mint IN (?)", c.database), texts)
	return found, err
}

func scanRow(rows driver.Rows) (mint pubkey.Key, row Row, err error) {
	var (
		text, symbol, name, supply, mintAuthority, freezeAuthority, uri, updateAuthority string

		isToken22     bool
		registers     []uint8
		items, values []string
		slots, orders []uint64
	)
	err = rows.Scan(&text, &symbol, &name, &isToken22, &supply, &mintAuthority, &freezeAuthority, &uri, &updateAuthority,
		&registers, &items, &slots, &orders, &values)
	if err != nil {
		return mint, row, err
	}
	if mint, err = keyOf(text); err != nil {
		return mint, row, err
	}
	row = Row{Columns: map[string]string{
		"symbol": symbol, "name": name, "supply": supply, "mint_authority": mintAuthority, "freeze_authority": freezeAuthority,
		"metaplex_uri": uri, "update_authority": updateAuthority, "program": schemas.ProgramToken,
	}}
	if isToken22 {
		row.Columns["program"] = schemas.ProgramToken2022
	}
	for i := range registers {
		row.Facts = append(row.Facts, registry.Fact{
			Mint: mint, Register: registry.Register(registers[i]), Item: items[i],
			Position: schemas.Position{Slot: slots[i], Order: orders[i]}, Value: values[i],
		})
	}
	return mint, row, nil
}
