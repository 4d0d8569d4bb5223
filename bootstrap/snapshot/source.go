package snapshot

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Source yields a registry's facts, each once, sorted by mint, register and item.
type Source interface {
	// Count returns roughly how many facts there are, for the progress.
	Count(ctx context.Context) (int64, error)
	// Facts calls each for every fact. It ends with the first error of each.
	Facts(ctx context.Context, each func(fact registry.Fact) error) error
}

// ClickHouse is a Source that reads a node's tables.
type ClickHouse struct {
	conn     driver.Conn
	database string
}

// NewClickHouse returns a Source that reads tokens_raw of a database, which has the facts that API
// nodes load. token_facts_raw would be wrong: it also has facts that were retracted, and does not
// have the facts that these had replaced.
func NewClickHouse(conn driver.Conn, database string) *ClickHouse {
	return &ClickHouse{conn: conn, database: database}
}

// Count returns the number of facts in the table. Those of rows that no merge has removed yet count
// too.
func (c *ClickHouse) Count(ctx context.Context) (int64, error) {
	var rows uint64
	if err := c.conn.QueryRow(ctx, "SELECT sum(length(facts)) FROM "+c.database+".tokens_raw").Scan(&rows); err != nil {
		return 0, fmt.Errorf("count facts: %w", err)
	}
	return int64(rows), nil
}

// Facts reads the table in the order of its sorting key, and sorts only the facts of one mint at a
// time. So it takes little memory, however large the table is.
func (c *ClickHouse) Facts(ctx context.Context, each func(fact registry.Fact) error) error {
	var mint pubkey.Key
	text := ""
	if err := clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		var fact registry.Fact
		var next string
		var register uint8
		var position schemas.Position
		if err := rows.Scan(&next, &register, &fact.Item, &position.Slot, &position.Order, &fact.Value); err != nil {
			return err
		}
		if next != text || text == "" { // most facts are of the same mint as the fact before
			var err error
			if mint, err = pubkey.Parse(next); err != nil {
				return fmt.Errorf("mint %.64q: %w", next, err)
			}
			text = next
		}
		fact.Mint, fact.Register, fact.Position = mint, registry.Register(register), position
		return each(fact)
	}, `SELECT mint, fact.1 AS register, fact.2 AS item, toUInt64(bitShiftRight(fact.3, 64)), toUInt64(fact.3), fact.4
		FROM `+c.database+`.tokens_raw FINAL ARRAY JOIN facts AS fact ORDER BY mint, register, item`); err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	return nil
}
