// Package verify compares ClickHouse's tables with the log that they are made of.
//
// In: the log up to where the projectors have committed, and the tables. Out: a report of each
// table. Guarantees: the tables are only read; the rows to compare them with are made in a database
// of their own, which is dropped at the end.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/operate/tables"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/volume"
)

// Database is the database with the expected rows while Compare runs.
const Database = schema.Database + "_verify"

// Run is one comparison.
type Run struct {
	*tables.Tables

	// Names are the tables to compare; all projected ones if it is empty.
	Names []string
	// Slots is the length of the ranges of slots that are compared.
	Slots  uint64
	Volume volume.Config
}

// Compare returns a report of each table.
func (r *Run) Compare(ctx context.Context) ([]*verify.TableReport, error) {
	if err := r.checkMigrated(ctx); err != nil {
		return nil, err
	}
	return r.compare(ctx)
}

// checkMigrated returns an error if the tables are of an earlier version. They may lack columns and
// tables then.
func (r *Run) checkMigrated(ctx context.Context) error {
	files, err := fs.Glob(schema.Migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var applied uint64
	if err := r.Conn.QueryRow(ctx, "SELECT max(toUInt64(version)) FROM "+schema.Database+"."+clickhouse.MigrationsTable).Scan(&applied); err != nil {
		return fmt.Errorf("read which migrations are applied: %w", err)
	}
	if applied < uint64(len(files)) {
		return fmt.Errorf("the tables are of an earlier version: they have migration %04d, this version's newest is %04d. Start `mintlake up` once, or run `mintlake migrate`, and verify again", applied, len(files))
	}
	return nil
}

// compare compares one group of tables after the other, and empties the database after each. So the
// disk has at most one group's rows twice.
func (r *Run) compare(ctx context.Context) (reports []*verify.TableReport, err error) {
	if err := r.create(ctx); err != nil {
		return nil, err
	}
	// Also after an error: a node may have no room for its own rows beside this copy.
	defer func() { err = errors.Join(err, r.Drop(context.WithoutCancel(ctx), Database)) }()
	for _, group := range verify.Groups() {
		tables := group.Tables
		if len(r.Names) > 0 {
			tables = slices.DeleteFunc(slices.Clone(tables), func(t string) bool { return !slices.Contains(r.Names, t) })
		}
		figures := r.figures(group)
		if len(tables)+len(figures) == 0 {
			continue
		}
		if err := r.project(ctx, group); err != nil {
			return nil, err
		}
		verifier := verify.New(r.Conn, Database, schema.Database, r.Slots)
		for _, table := range tables {
			began := time.Now()
			report, err := verifier.Table(ctx, table)
			if err != nil {
				return nil, err
			}
			r.Logger.Info("table compared", "table", table, "rows", report.Rows, "took", time.Since(began))
			reports = append(reports, report)
		}
		if len(figures) > 0 {
			if err := r.valueAll(ctx); err != nil {
				return nil, err
			}
			more, err := verifier.Figures(ctx, figures)
			if err != nil {
				return nil, err
			}
			reports = append(reports, more...)
		}
		if err := r.empty(ctx); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// figures returns the tables of prices and volumes that are compared together with a group's
// tables.
func (r *Run) figures(group verify.Group) []string {
	if group.Name != schemas.GroupSwaps {
		return nil
	}
	return slices.DeleteFunc(verify.FigureTables(), func(t string) bool { return len(r.Names) > 0 && !slices.Contains(r.Names, t) })
}

// valueAll computes the prices and volumes of all legs in Database, as the volume room does.
func (r *Run) valueAll(ctx context.Context) error {
	began := time.Now()
	room, err := volume.New(r.Volume, volume.Deps{Store: volume.NewClickHouse(r.Conn, Database, r.Volume), Logger: r.Logger})
	if err != nil {
		return err
	}
	minutes, err := room.Once(ctx)
	if err != nil {
		return fmt.Errorf("value the legs of the log: %w", err)
	}
	r.Logger.Info("legs valued", "minutes", minutes, "took", time.Since(began))
	return nil
}

// create makes Database with empty tables. That takes a second: more than small tables take to be
// compared.
func (r *Run) create(ctx context.Context) error {
	if err := r.Drop(ctx, Database); err != nil {
		return err
	}
	_, err := r.MigrateDatabase(ctx, Database)
	return err
}

// empty removes all rows of Database.
func (r *Run) empty(ctx context.Context) error {
	names, err := clickhouse.List(ctx, r.Conn, func(rows driver.Rows, name *string) error { return rows.Scan(name) },
		"SELECT name FROM system.tables WHERE database = $1 AND engine LIKE '%MergeTree'", Database)
	if err != nil {
		return fmt.Errorf("list the tables of %s: %w", Database, err)
	}
	onCluster := ""
	if r.Cluster != "" {
		onCluster = " ON CLUSTER '" + r.Cluster + "'"
	}
	for _, name := range names {
		if err := r.Conn.Exec(ctx, "TRUNCATE TABLE "+Database+"."+name+onCluster+" SYNC"); err != nil {
			return fmt.Errorf("empty %s.%s: %w", Database, name, err)
		}
	}
	return nil
}

// project makes the rows that a group's tables should have, in Database.
func (r *Run) project(ctx context.Context, group verify.Group) error {
	projection := verify.NewProjection(r.Conn, Database)
	if err := r.Project(ctx, group, projection); err != nil {
		return err
	}
	return projection.Finish(ctx, group.Name, false)
}
