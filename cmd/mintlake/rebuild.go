package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	tables      []string
	from, to    uint64
	loseHistory bool
	out         io.Writer

	// whole has the tables of which the log has all rows, and aside the parts, as TABLE/PART, that
	// this run has put aside.
	whole, aside map[string]bool
}

func rebuildCommand() *cobra.Command {
	var run rebuildRun
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make ClickHouse's tables anew from the log: all of them, or the rows that `verify` misses",
		Long: `Without --tables: throw ClickHouse's tables away, all of the database mintlake. The projector begins at the log's first record again and makes the same
rows. "up" (or the projector) must not run. Swaps, prices, volumes and slots are in the log for 30 days, and what was there before an import into a new log is not in it
at all: if the tables have more than the log, the command says what, and does nothing without --lose-history.

With --tables: put broken parts of these tables aside and make their rows once more from the log, into the tables as they are. Rows that are there already fall
together with their copies, and rows that the log no longer has stay. So does a part that was put aside and may have such rows: the command names it.
Prices and volumes are made of the legs in swaps_raw, at the next start. "mintlake verify" prints the command. A running node, or servers of your own, are named
with --kafka-brokers and --clickhouse-dsn.`,
		Example: `  mintlake rebuild
  mintlake rebuild --tables token_events_raw --from-slot 361774000 --to-slot 361774999`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		run.out = cmd.OutOrStdout()
		if len(run.tables) > 0 {
			return run.tablesAgain(ctx, cfg, logger)
		}
		if run.from != 0 || run.to != 0 {
			return errors.New("rebuild: --from-slot and --to-slot need --tables")
		}
		return run.all(ctx, cfg, logger)
	})
	cmd.Flags().StringSliceVar(&run.tables, "tables", nil, "make the rows of these tables again; without it all tables are thrown away")
	cmd.Flags().Uint64Var(&run.from, "from-slot", 0, "with --tables: first slot")
	cmd.Flags().Uint64Var(&run.to, "to-slot", 0, "with --tables: last slot, needed with --from-slot; without both all slots")
	cmd.Flags().BoolVar(&run.loseHistory, "lose-history", false, "without --tables: throw away rows too that the log no longer has")
	return cmd
}

// all drops all tables. If the log cannot make all rows again, it does so only with --lose-history.
func (r *rebuildRun) all(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	return withStores(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
		if !r.loseHistory {
			lost, err := s.onlyInTables(ctx, conn)
			if err != nil {
				return fmt.Errorf("rebuild: %w (--lose-history drops the tables without a look)", err)
			}
			if len(lost) > 0 {
				return fmt.Errorf("rebuild: the tables have rows that the log cannot make again: %s. Nothing was dropped. `mintlake rebuild --tables …` keeps such rows; "+
					"--lose-history drops them: take a backup before (mintlake backup)", strings.Join(lost, "; "))
			}
		}
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
		fmt.Fprintln(r.out, "the tables are empty; start mintlake to fill them from the log, it tells how far it is")
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
	r.whole, r.aside = map[string]bool{}, map[string]bool{}
	return withLogAndTables(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
		for _, table := range r.tables {
			reach, err := s.extent(ctx, conn, measureOf(table))
			if err != nil {
				return fmt.Errorf("rebuild: %w", err)
			}
			r.whole[table] = reach.whole()
		}
		for _, table := range r.tables {
			if cfg.ClickHouse.Cluster != "" {
				break // a replica mends broken parts by itself, from another one
			}
			if err := r.putBrokenAside(ctx, s, conn, table); err != nil {
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
func (r *rebuildRun) putBrokenAside(ctx context.Context, s *system, conn driver.Conn, table string) error {
	name := schema.Database + "." + table
	broken, err := parts.CheckTable(ctx, conn, schema.Database, table)
	if err != nil {
		return fmt.Errorf("check %s: %w", table, err)
	}
	for part, message := range broken {
		if err := conn.Exec(ctx, "ALTER TABLE "+name+" DETACH PART '"+part+"'"); err != nil {
			return fmt.Errorf("put the broken part %s of %s aside: %w", part, table, err)
		}
		r.aside[table+"/"+part] = true
		s.logger.Warn("a broken part is put aside", "table", table, "part", part, "err", message)
	}
	return nil
}

// forgetDamage deletes broken parts whose rows have been written again, and removes lost parts from
// the list of damage. A part that may have other rows stays: much of it can often still be read.
func (r *rebuildRun) forgetDamage(ctx context.Context, s *system, conn driver.Conn) error {
	var detached []struct {
		Table string `ch:"table"`
		Name  string `ch:"name"`
		Path  string `ch:"path"`
	}
	if err := conn.Select(ctx, &detached, "SELECT table, name, path FROM system.detached_parts WHERE database = $1", schema.Database); err != nil {
		return fmt.Errorf("rebuild: list detached parts: %w", err)
	}
	for _, part := range detached {
		if !slices.Contains(r.tables, part.Table) {
			continue
		}
		if why := r.stays(part.Table, part.Name); why != "" {
			fmt.Fprintf(r.out, "%s: the detached part %s stays: %s (%s)\n", part.Table, part.Name, why, part.Path)
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
	fmt.Fprintln(r.out, "the rows are made again; `mintlake verify` compares them")
	return nil
}

// stays returns why a detached part must not be deleted; empty if it may be.
func (r *rebuildRun) stays(table, part string) string {
	switch {
	case !r.aside[table+"/"+part] && !strings.HasPrefix(part, "broken"):
		return "it is not this command that put it aside"
	case !r.whole[table]:
		return "it may have rows that the log no longer has. Read them, or restore a backup, then delete its folder (docs/embedded-clickhouse.md)"
	case r.to > 0:
		return "only some slots were made again. Without --from-slot and --to-slot it is deleted"
	default:
		return ""
	}
}
