package tables

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/projector/swaps"
	"github.com/mintlake/mintlake/projector/usage"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// Group is a consumer group that writes ClickHouse's tables.
type Group struct {
	Name   string
	Topics []string
}

// Groups returns the consumer groups whose committed offsets must agree with the rows in
// ClickHouse. A command that creates or restores the tables must reset these offsets.
func Groups() []Group {
	return []Group{
		{schemas.GroupProjector, projector.Topics()},
		{schemas.GroupSwaps, swaps.Topics()},
		{schemas.GroupBalances, balances.Topics()},
		{schemas.GroupUsage, usage.Topics()},
		{renewalGroup(), projector.Topics()},
	}
}

// Migrate brings the tables to the newest version, and checks that this binary can write to them.
// If the tables are new, it resets the consumer groups that fill them, so that these begin at the
// first record.
func (t *Tables) Migrate(ctx context.Context) error {
	existed, err := t.exist(ctx)
	if err != nil {
		return err
	}
	if !existed {
		within, cancel := context.WithTimeout(ctx, EmptyGroupWait)
		defer cancel()
		for _, group := range Groups() {
			if err := t.Admin.ForgetGroup(within, group.Name); err != nil {
				return fmt.Errorf("the tables are new, and the projector could not be made to begin anew; stop other projectors: %w", err)
			}
		}
	}
	applied, err := t.MigrateDatabase(ctx, schema.Database)
	for _, name := range applied {
		t.Logger.Info("migration applied", "migration", name)
	}
	if err != nil {
		return err
	}
	store := projector.NewClickHouse(t.Conn, schema.Database)
	if err := store.Check(ctx); err != nil {
		return err
	}
	if err := noteRules(ctx, store); err != nil {
		return err
	}
	if err := swaps.NewClickHouse(t.Conn, schema.Database).Check(ctx); err != nil {
		return err
	}
	if err := balances.NewClickHouse(t.Conn, schema.Database).Check(ctx); err != nil {
		return err
	}
	return usage.NewClickHouse(t.Conn, schema.Database).Check(ctx)
}

// MigrateDatabase creates a database with all tables, or brings its tables to the newest version,
// in the whole cluster. It returns the names of the migrations that it applied, also beside an
// error.
func (t *Tables) MigrateDatabase(ctx context.Context, database string) (applied []string, err error) {
	files, err := fs.Sub(schema.Migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	applied, err = clickhouse.Migrate(ctx, t.Conn, files, clickhouse.Options{Database: database, Cluster: t.Cluster, Sharding: schema.Sharding()})
	if err != nil {
		return applied, fmt.Errorf("migrate database %s of ClickHouse: %w", database, err)
	}
	return applied, nil
}

// noteRules notes that tables without facts are of this version's rules. It does not matter who
// created them: the first migration may have been killed before the note.
func noteRules(ctx context.Context, store *projector.ClickHouse) error {
	outdated, err := store.FactsOutdated(ctx)
	if err != nil || !outdated {
		return err
	}
	if has, err := store.HasFacts(ctx); err != nil || has {
		return err
	}
	return store.NoteFactRules(ctx)
}

// exist reports whether tables were created before.
func (t *Tables) exist(ctx context.Context) (bool, error) {
	var count uint64
	row := t.Conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = $1 AND name = $2", schema.Database, clickhouse.MigrationsTable)
	if err := row.Scan(&count); err != nil {
		return false, fmt.Errorf("look for tables: %w", err)
	}
	return count > 0, nil
}
