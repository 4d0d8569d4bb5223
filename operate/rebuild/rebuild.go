// Package rebuild makes ClickHouse's tables anew from the log.
//
// In: the log. Out: all tables anew, or rows of some tables in the tables as they are. Guarantees:
// what the log cannot make again is dropped only if the caller says so.
package rebuild

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/operate/tables"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// All drops all tables and creates them empty. The next start of mintlake fills them from the log.
// If the log cannot make all rows again, All drops nothing and returns an error, unless loseHistory
// is true.
func All(ctx context.Context, t *tables.Tables, loseHistory bool, out io.Writer) error {
	if !loseHistory {
		lost, err := t.NotInLog(ctx)
		if err != nil {
			return fmt.Errorf("rebuild: %w (--lose-history drops the tables without a look)", err)
		}
		if len(lost) > 0 {
			return fmt.Errorf("rebuild: the tables have rows that the log cannot make again: %s. Nothing was dropped. `mintlake rebuild --tables …` keeps such rows; "+
				"--lose-history drops them: take a backup before (mintlake backup)", strings.Join(lost, "; "))
		}
	}
	if err := t.Drop(ctx, schema.Database); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if err := t.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "the tables are empty; start mintlake to fill them from the log, it tells how far it is")
	return nil
}

// Run makes rows of some tables anew.
type Run struct {
	*tables.Tables

	Names []string
	// From and To are the first and the last slot whose rows are made anew; both 0 for all slots.
	From, To uint64
	// Manifest is the file that lists the parts of the embedded ClickHouse; empty for a server.
	Manifest string
	Out      io.Writer

	// whole is true for the tables of which the log has all rows. aside has the parts, as
	// TABLE/PART, that this run has put aside.
	whole, aside map[string]bool
}

// Check returns an error if a name is not a table that is made of the log, or if the slots are no
// range.
func (r *Run) Check() error {
	if err := tables.Known(r.Names); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if r.To > 0 && r.From > r.To || r.To == 0 && r.From > 0 {
		return fmt.Errorf("rebuild: --from-slot %d --to-slot %d are no range", r.From, r.To)
	}
	return nil
}

// Rows writes the rows of the tables again from the log. Before that it puts their broken parts
// aside, except in a cluster, where replicas repair them. At the end it deletes those detached
// parts whose rows have been written again.
func (r *Run) Rows(ctx context.Context) error {
	if err := r.rows(ctx); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	return nil
}

func (r *Run) rows(ctx context.Context) error {
	r.whole, r.aside = map[string]bool{}, map[string]bool{}
	for _, table := range r.Names {
		whole, err := r.Whole(ctx, table)
		if err != nil {
			return err
		}
		r.whole[table] = whole
	}
	for _, table := range r.Names {
		if r.Cluster != "" {
			break // a replica mends broken parts by itself, from another one
		}
		if err := r.putBrokenAside(ctx, table); err != nil {
			return err
		}
	}
	for _, group := range verify.Groups() {
		projection := r.projection()
		projection.Tables = slices.DeleteFunc(slices.Clone(group.Tables), func(t string) bool { return !slices.Contains(r.Names, t) })
		if len(projection.Tables) == 0 {
			continue
		}
		if err := r.Project(ctx, group, projection); err != nil {
			return err
		}
		if err := projection.Finish(ctx, group.Name, true); err != nil {
			return err
		}
	}
	// Tables of prices and volumes are filled by the volume room, after Finish has marked their
	// minutes to be valued again.
	if slices.ContainsFunc(r.Names, func(t string) bool { return slices.Contains(verify.FigureTables(), t) }) {
		if err := r.projection().Finish(ctx, schemas.GroupSwaps, true); err != nil {
			return err
		}
	}
	return r.forgetDamage(ctx)
}

func (r *Run) projection() *verify.Projection {
	projection := verify.NewProjection(r.Conn, schema.Database)
	projection.From, projection.To = r.From, r.To
	return projection
}

// putBrokenAside detaches the parts whose files differ from their checksums. While such a part is
// attached, reads of its table fail.
func (r *Run) putBrokenAside(ctx context.Context, table string) error {
	name := schema.Database + "." + table
	broken, err := parts.CheckTable(ctx, r.Conn, schema.Database, table)
	if err != nil {
		return fmt.Errorf("check %s: %w", table, err)
	}
	for part, message := range broken {
		if err := r.Conn.Exec(ctx, "ALTER TABLE "+name+" DETACH PART '"+part+"'"); err != nil {
			return fmt.Errorf("put the broken part %s of %s aside: %w", part, table, err)
		}
		r.aside[table+"/"+part] = true
		r.Logger.Warn("a broken part is put aside", "table", table, "part", part, "err", message)
	}
	return nil
}

// forgetDamage deletes broken parts whose rows have been written again, and removes lost parts from
// the list of damage. A part that may have other rows stays: much of it can often still be read.
func (r *Run) forgetDamage(ctx context.Context) error {
	var detached []struct {
		Table string `ch:"table"`
		Name  string `ch:"name"`
		Path  string `ch:"path"`
	}
	if err := r.Conn.Select(ctx, &detached, "SELECT table, name, path FROM system.detached_parts WHERE database = $1", schema.Database); err != nil {
		return fmt.Errorf("list detached parts: %w", err)
	}
	for _, part := range detached {
		if !slices.Contains(r.Names, part.Table) {
			continue
		}
		if why := r.stays(part.Table, part.Name); why != "" {
			fmt.Fprintf(r.Out, "%s: the detached part %s stays: %s (%s)\n", part.Table, part.Name, why, part.Path)
			continue
		}
		err := r.Conn.Exec(ctx, "ALTER TABLE "+schema.Database+"."+part.Table+" DROP DETACHED PART '"+part.Name+"' SETTINGS allow_drop_detached = 1")
		if err != nil {
			return fmt.Errorf("drop the part %s of %s that was put aside: %w", part.Name, part.Table, err)
		}
	}
	if r.Manifest != "" {
		if err := parts.Forget(r.Manifest, r.Names); err != nil {
			return err
		}
	}
	fmt.Fprintln(r.Out, "the rows are made again; `mintlake verify` compares them")
	return nil
}

// stays returns why a detached part must not be deleted; empty if it may be.
func (r *Run) stays(table, part string) string {
	switch {
	case !r.aside[table+"/"+part] && !strings.HasPrefix(part, "broken"):
		return "it is not this command that put it aside"
	case !r.whole[table]:
		return "it may have rows that the log no longer has. Read them, or restore a backup, then delete its folder (docs/embedded-clickhouse.md)"
	case r.To > 0:
		return "only some slots were made again. Without --from-slot and --to-slot it is deleted"
	default:
		return ""
	}
}
