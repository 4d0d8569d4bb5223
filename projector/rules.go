package projector

import (
	"context"
	"fmt"
	"strconv"

	"github.com/mintlake/mintlake/registry"
)

// FactRules is registry.FactRules: after a change of it the next start makes the rows of FactTables
// anew from the log.
const FactRules = registry.FactRules

const tableRules, rulesOfFacts = "table_rules", "facts"

// FactTables returns the tables whose rows are made by FactRules.
func FactTables() []string { return []string{tableTokenFacts, tableTokenFactHistory, TableTokens} }

// FactsOutdated reports whether rows of FactTables may have been made by earlier rules.
func (c *ClickHouse) FactsOutdated(ctx context.Context) (bool, error) {
	var newest uint64
	query := "SELECT max(toUInt64(rules)) FROM " + c.database + "." + tableRules + " WHERE made = '" + rulesOfFacts + "'"
	if err := c.conn.QueryRow(ctx, query).Scan(&newest); err != nil {
		return false, fmt.Errorf("read which rules made the facts: %w", err)
	}
	return newest < FactRules, nil
}

// HasFacts reports whether FactTables have rows.
func (c *ClickHouse) HasFacts(ctx context.Context) (bool, error) {
	var rows uint64
	if err := c.conn.QueryRow(ctx, "SELECT count() FROM "+c.database+"."+tableTokenFacts).Scan(&rows); err != nil {
		return false, fmt.Errorf("look for facts: %w", err)
	}
	return rows > 0, nil
}

// NoteFactRules stores in table_rules that version FactRules of the rules made all rows of the
// FactTables.
func (c *ClickHouse) NoteFactRules(ctx context.Context) error {
	query := "INSERT INTO " + c.database + "." + tableRules + " (made, rules, made_at) SELECT '" + rulesOfFacts + "', " + strconv.Itoa(FactRules) + ", now64(3)"
	if err := c.conn.Exec(ctx, query); err != nil {
		return fmt.Errorf("note which rules made the facts: %w", err)
	}
	return nil
}
