package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// rebuildRun is one call of `mintlake rebuild`.
type rebuildRun struct {
	tables   []string
	from, to uint64
}

func rebuildCommand() *cobra.Command {
	var run rebuildRun
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make ClickHouse's tables anew from the log: all of them, or the rows that `verify` misses",
		Long: `Without --tables: throw ClickHouse's tables away, all of the database mintlake. The log in Kafka is the source of truth: the projector begins at its
first record again and makes the same rows. "up" (or the projector) must not run.

With --tables: put broken parts of these tables aside and make their rows once more from the log, into the tables as they are. Rows that are there already fall
together with their copies, and rows that the log no longer has stay. Prices and volumes are made of the legs in swaps_raw, at the next start. "mintlake verify" prints the command. A running node, or servers of your own, are named
with --kafka-brokers and --clickhouse-dsn.`,
		Example: `  mintlake rebuild
  mintlake rebuild --tables token_events_raw --from-slot 361774000 --to-slot 361774999`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if len(run.tables) > 0 {
			return run.tablesAgain(ctx, cfg, logger)
		}
		if run.from != 0 || run.to != 0 {
			return errors.New("rebuild: --from-slot and --to-slot need --tables")
		}
		return rebuildAll(ctx, cfg, logger)
	})
	cmd.Flags().StringSliceVar(&run.tables, "tables", nil, "make the rows of these tables again; without it all tables are thrown away")
	cmd.Flags().Uint64Var(&run.from, "from-slot", 0, "with --tables: first slot")
	cmd.Flags().Uint64Var(&run.to, "to-slot", 0, "with --tables: last slot, needed with --from-slot; without both all slots")
	return cmd
}

func rebuildAll(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	return withStores(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
		drop := "DROP DATABASE IF EXISTS " + schema.Database
		if cfg.ClickHouse.Cluster != "" {
			drop += " ON CLUSTER '" + cfg.ClickHouse.Cluster + "'"
		}
		if err := conn.Exec(ctx, drop+" SYNC"); err != nil {
			return fmt.Errorf("rebuild: drop the tables: %w", err)
		}
		if err := s.migrate(ctx, conn); err != nil {
			return err
		}
		fmt.Println("the tables are empty; start mintlake to fill them from the log, it tells how far it is")
		return nil
	})
}

// tablesAgain writes the rows of some tables again from the log. Before that it puts their broken
// parts aside, except in a cluster, and at the end it deletes those.
func (r *rebuildRun) tablesAgain(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	if err := knownTables(r.tables); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if r.to > 0 && r.from > r.to || r.to == 0 && r.from > 0 {
		return fmt.Errorf("rebuild: --from-slot %d --to-slot %d are no range", r.from, r.to)
	}
	return withLogAndTables(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
		for _, table := range r.tables {
			if cfg.ClickHouse.Cluster != "" {
				break // a replica mends broken parts by itself, from another one
			}
			if err := putBrokenAside(ctx, s, conn, table); err != nil {
				return fmt.Errorf("rebuild: %w", err)
			}
		}
		for _, group := range verify.Groups() {
			tables := slices.DeleteFunc(slices.Clone(group.Tables), func(t string) bool { return !slices.Contains(r.tables, t) })
			if len(tables) == 0 {
				continue
			}
			projection := verify.NewProjection(conn, schema.Database)
			projection.Tables, projection.From, projection.To = tables, r.from, r.to
			if err := s.projectCommitted(ctx, group, projection); err != nil {
				return fmt.Errorf("rebuild: %w", err)
			}
			if err := projection.Finish(ctx, group.Name, true); err != nil {
				return fmt.Errorf("rebuild: %w", err)
			}
		}
		if slices.ContainsFunc(r.tables, func(t string) bool { return slices.Contains(verify.FigureTables(), t) }) {
			projection := verify.NewProjection(conn, schema.Database)
			projection.From, projection.To = r.from, r.to
			if err := projection.Finish(ctx, schemas.GroupSwaps, true); err != nil {
				return fmt.Errorf("rebuild: %w", err)
			}
		}
		return r.forgetDamage(ctx, s, conn)
	})
}

// putBrokenAside detaches the parts whose files differ from their checksums. While such a part is
// attached, reads of its table fail.
func putBrokenAside(ctx context.Context, s *system, conn driver.Conn, table string) error {
	name := schema.Database + "." + table
	broken, err := parts.CheckTable(ctx, conn, schema.Database, table)
	if err != nil {
		return fmt.Errorf("check %s: %w", table, err)
	}
	for part, message := range broken {
		if err := conn.Exec(ctx, "ALTER TABLE "+name+" DETACH PART '"+part+"'"); err != nil {
			return fmt.Errorf("put the broken part %s of %s aside: %w", part, table, err)
		}
		s.logger.Warn("a broken part is put aside", "table", table, "part", part, "err", message)
	}
	return nil
}

// forgetDamage deletes the detached parts, whose rows have been written again, and removes lost
// parts from the list of damage. If only a range of slots was made again, it deletes only the parts
// that ClickHouse itself detached as broken: the others may have rows of other slots.
func (r *rebuildRun) forgetDamage(ctx context.Context, s *system, conn driver.Conn) error {
	var detached []struct {
		Table string `ch:"table"`
		Name  string `ch:"name"`
	}
	if err := conn.Select(ctx, &detached, "SELECT table, name FROM system.detached_parts WHERE database = $1", schema.Database); err != nil {
		return fmt.Errorf("rebuild: list detached parts: %w", err)
	}
	for _, part := range detached {
		if !slices.Contains(r.tables, part.Table) || r.to > 0 && !strings.HasPrefix(part.Name, "broken") {
			continue
		}
		err := conn.Exec(ctx, "ALTER TABLE "+schema.Database+"."+part.Table+" DROP DETACHED PART '"+part.Name+"' SETTINGS allow_drop_detached = 1")
		if err != nil {
			return fmt.Errorf("rebuild: drop the part %s of %s that was put aside: %w", part.Name, part.Table, err)
		}
	}
	if s.cfg.ClickHouse.DSN == "" {
		if err := parts.Forget(partsManifest(s.cfg), r.tables); err != nil {
			return fmt.Errorf("rebuild: %w", err)
		}
	}
	fmt.Println("the rows are made again; `mintlake verify` compares them")
	return nil
}
