package tables

import (
	"context"
	"fmt"

	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// CheckLog returns an error if the embedded log has no facts but the tables have some: the log was
// lost. Without this check, the API, which reads the log, would serve an empty registry beside full
// tables. CheckLog looks at topics whose records never expire. The topic of slots proves nothing,
// since each start writes to it.
func (t *Tables) CheckLog(ctx context.Context, dataDir string) error {
	ends, err := t.Admin.EndOffsets(ctx, []string{schemas.TopicTokenEvents, schemas.TopicEnrichments})
	if err != nil {
		return fmt.Errorf("look for the log: %w", err)
	}
	for _, end := range ends {
		if end > 0 {
			return nil
		}
	}
	var mints, first, last uint64
	row := t.Conn.QueryRow(ctx, fmt.Sprintf("SELECT (SELECT uniqExact(mint) FROM %[1]s.token_facts_raw), min(slot), max(slot) FROM %[1]s.slots_raw", schema.Database))
	if err := row.Scan(&mints, &first, &last); err != nil {
		return fmt.Errorf("look for tokens: %w", err)
	}
	if mints == 0 {
		return nil
	}
	return fmt.Errorf("the log in %[1]s/kafka is empty, but ClickHouse's tables hold %[2]d tokens of slots %[3]d to %[4]d: the log is lost, and it is what everything is made of. "+
		"Restore a backup (mintlake restore); or write what the tables know of tokens into a new log (mintlake export, then mintlake import, see docs/operations.md); "+
		"or begin anew with empty tables (mintlake rebuild --lose-history --data-dir %[1]s)", dataDir, mints, first, last)
}
