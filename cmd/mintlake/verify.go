package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/volume"
)

// verifyDatabase is the database with the expected rows while verify runs.
const verifyDatabase = schema.Database + "_verify"

// errDiffers makes verify end with exit code 1. All other errors make it end with 2.
var errDiffers = errors.New("the tables differ from the log; the commands above make the rows again")

// errOutdated makes verify end with exit code 2.
var errOutdated = errors.New("an earlier version made rows of the tables that are outdated; `mintlake up` makes them anew in the background: verify again when its log says that tables are made anew")

// codedError is an error with an exit code.
type codedError struct {
	error
	code int
}

func (e *codedError) Unwrap() error { return e.error }

// exitCode returns the exit code for an error that ended a command.
func exitCode(err error) int {
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return 1
}

// verifyRun is one call of `mintlake verify`.
type verifyRun struct {
	tables []string
	slots  uint64
	asJSON bool
	out    io.Writer
}

func verifyCommand() *cobra.Command {
	var run verifyRun
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare ClickHouse's tables with the log and say what to rebuild",
		Long: `Compare ClickHouse's tables with the log that they are made of: counts and a checksum per table and range of slots, and the checksums of every part's files.

The log is projected once more, up to where the projectors have committed, into a database of its own (` + verifyDatabase + `), which takes as much disk as the tables
do and is dropped at the end. Prices and volumes are made there of its legs, and compared for the times of which the log has all legs. The tables themselves are only read. Without flags the data of a stopped "up" under --data-dir is compared; a running one, or
servers of your own, are named with --kafka-brokers and --clickhouse-dsn. What a running node writes meanwhile is no difference.

Each table is equal; or waiting, if rows that are not there are of minutes whose legs are still to be valued; or outdated, if an earlier version's rules made its
rows, which "up" makes anew in the background; or it DIFFERS: rows are missing or wrong.

The exit code is 0 when all is equal or waiting, 1 when rows are missing or wrong or a part is broken, 2 when that could not be told.`,
		Example: `  mintlake verify
  mintlake verify --tables token_events_raw,swaps_raw --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		run.out = cmd.OutOrStdout()
		return run.run(ctx, cfg, logger)
	})
	cmd.Flags().StringSliceVar(&run.tables, "tables", nil, "compare these only; all projected tables without it")
	cmd.Flags().Uint64Var(&run.slots, "slots", 100_000, "length of the ranges of slots that are compared")
	cmd.Flags().BoolVar(&run.asJSON, "json", false, "print JSON")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := inner(cmd, args)
		if err != nil && !errors.Is(err, errDiffers) {
			return &codedError{fmt.Errorf("verify: could not tell: %w", err), 2}
		}
		return err
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &codedError{nearFlag(cmd, err), 2} })
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &codedError{err, 2}
		}
		return nil
	}
	return cmd
}

func (r *verifyRun) run(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	if r.slots == 0 {
		return errors.New("--slots must be at least 1")
	}
	if err := knownTables(r.tables); err != nil {
		return err
	}
	return withLogAndTables(ctx, cfg, logger, func(s *system, conn driver.Conn) error {
		if err := checkMigrated(ctx, conn); err != nil {
			return err
		}
		reports, err := r.compare(ctx, s, conn)
		if err != nil {
			return err
		}
		return r.print(reports)
	})
}

// checkMigrated returns an error if the tables are of an earlier version. They may lack columns and
// tables then.
func checkMigrated(ctx context.Context, conn driver.Conn) error {
	files, err := fs.Glob(schema.Migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var applied uint64
	if err := conn.QueryRow(ctx, "SELECT max(toUInt64(version)) FROM "+schema.Database+"."+clickhouse.MigrationsTable).Scan(&applied); err != nil {
		return fmt.Errorf("read which migrations are applied: %w", err)
	}
	if applied < uint64(len(files)) {
		return fmt.Errorf("the tables are of an earlier version: they have migration %04d, this version's newest is %04d. Start `mintlake up` once, or run `mintlake migrate`, and verify again", applied, len(files))
	}
	return nil
}

// knownTables returns an error if one of the tables is no projected table.
func knownTables(tables []string) error {
	for _, table := range tables {
		if !slices.Contains(verify.FigureTables(), table) && !slices.ContainsFunc(verify.Groups(), func(g verify.Group) bool { return slices.Contains(g.Tables, table) }) {
			return fmt.Errorf("--tables: %s is no projected table", table)
		}
	}
	return nil
}

// withLogAndTables calls work with Kafka and ClickHouse: the configured ones, or the embedded ones
// on the data folder. It creates and migrates nothing.
func withLogAndTables(ctx context.Context, cfg *Config, logger *slog.Logger, work func(*system, driver.Conn) error) (err error) {
	s := newSystem(cfg, logger)
	defer func() {
		if stopErr := s.stop(); err == nil {
			err = stopErr
		}
	}()
	// The configured addresses may be in use by the `up` of another folder.
	cfg.Kafka.Addr, cfg.ClickHouse.Addr = "127.0.0.1:0", "127.0.0.1:0"
	if s.backends, err = startBackends(ctx, cfg, s.lifecycle, logger, s.registerer); err != nil {
		return fmt.Errorf("%w (a running node is named with --kafka-brokers and --clickhouse-dsn, by the addresses that it printed)", err)
	}
	if err := s.connect(); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	if err := s.admin.Ping(soon); err != nil {
		return fmt.Errorf("no Kafka answers at %v: %w", s.backends.brokers, err)
	}
	conn, err := s.openClickHouse(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return work(s, conn)
}

// compare compares one group of tables after the other. So the disk has at most one group's rows
// twice.
func (r *verifyRun) compare(ctx context.Context, s *system, conn driver.Conn) ([]*verify.TableReport, error) {
	var reports []*verify.TableReport
	for _, group := range verify.Groups() {
		tables := group.Tables
		if len(r.tables) > 0 {
			tables = slices.DeleteFunc(slices.Clone(tables), func(t string) bool { return !slices.Contains(r.tables, t) })
		}
		figures := r.figures(group)
		if len(tables)+len(figures) == 0 {
			continue
		}
		if err := r.project(ctx, s, conn, group); err != nil {
			return nil, err
		}
		verifier := verify.New(conn, verifyDatabase, schema.Database, r.slots)
		for _, table := range tables {
			began := time.Now()
			report, err := verifier.Table(ctx, table)
			if err != nil {
				return nil, err
			}
			s.logger.Info("table compared", "table", table, "rows", report.Rows, "took", time.Since(began))
			reports = append(reports, report)
		}
		if len(figures) > 0 {
			if err := s.valueAll(ctx, conn, verifyDatabase); err != nil {
				return nil, err
			}
			more, err := verifier.Figures(ctx, figures)
			if err != nil {
				return nil, err
			}
			reports = append(reports, more...)
		}
		if err := dropVerifyDatabase(context.WithoutCancel(ctx), s, conn); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// figures returns the tables of prices and volumes that are compared together with a group's
// tables.
func (r *verifyRun) figures(group verify.Group) []string {
	if group.Name != schemas.GroupSwaps {
		return nil
	}
	return slices.DeleteFunc(verify.FigureTables(), func(t string) bool { return len(r.tables) > 0 && !slices.Contains(r.tables, t) })
}

// valueAll computes the prices and volumes of all legs in a database, as the volume room does.
func (s *system) valueAll(ctx context.Context, conn driver.Conn, database string) error {
	began := time.Now()
	room, err := volume.New(s.cfg.Volume, volume.Deps{Store: volume.NewClickHouse(conn, database, s.cfg.Volume), Logger: s.logger})
	if err != nil {
		return err
	}
	minutes, err := room.Once(ctx)
	if err != nil {
		return fmt.Errorf("value the legs of the log: %w", err)
	}
	s.logger.Info("legs valued", "minutes", minutes, "took", time.Since(began))
	return nil
}

func dropVerifyDatabase(ctx context.Context, s *system, conn driver.Conn) error {
	drop := "DROP DATABASE IF EXISTS " + verifyDatabase
	if s.cfg.ClickHouse.Cluster != "" {
		drop += " ON CLUSTER '" + s.cfg.ClickHouse.Cluster + "'"
	}
	if err := conn.Exec(ctx, drop+" SYNC"); err != nil {
		return fmt.Errorf("drop database %s: %w", verifyDatabase, err)
	}
	return nil
}

// project makes the rows that a group's tables should have, in verifyDatabase.
func (r *verifyRun) project(ctx context.Context, s *system, conn driver.Conn, group verify.Group) error {
	if err := dropVerifyDatabase(ctx, s, conn); err != nil {
		return err
	}
	files, err := fs.Sub(schema.Migrations, "migrations")
	if err != nil {
		return err
	}
	if _, err := clickhouse.Migrate(ctx, conn, files, clickhouse.Options{Database: verifyDatabase, Cluster: s.cfg.ClickHouse.Cluster}); err != nil {
		return fmt.Errorf("make database %s: %w", verifyDatabase, err)
	}
	projection := verify.NewProjection(conn, verifyDatabase)
	if err := s.projectCommitted(ctx, group, projection); err != nil {
		return err
	}
	return projection.Finish(ctx, group.Name, false)
}

// projectBatch is how many records are projected in one batch.
const projectBatch = 20_000

// projectCommitted projects the records that the group has processed: from the topics' first ones
// to its committed offsets.
func (s *system) projectCommitted(ctx context.Context, group verify.Group, projection *verify.Projection) error {
	log := topicLog{brokers: s.backends.brokers, admin: s.admin, deps: s.kafka, name: "verify"}
	ends, err := s.admin.CommittedOffsets(ctx, group.Name, group.Topics)
	if err != nil {
		return err
	}
	if len(ends) == 0 {
		return fmt.Errorf("the consumer group %s has committed nothing: nothing was projected yet, or the groups' offsets are lost", group.Name)
	}
	logEnds, err := s.admin.EndOffsets(ctx, group.Topics)
	if err != nil {
		return err
	}
	for partition, committed := range ends {
		if end := logEnds[partition]; end < committed {
			return fmt.Errorf("the log of %s ends at offset %d, but the consumer group %s has committed %d: the topic was made anew, or records are lost. "+
				"Let the group begin at the log's first record: `mintlake offsets reset --first` with the projectors stopped, or `mintlake rebuild` for a stopped `up`",
				partition, end, group.Name, committed)
		}
	}
	starts, err := s.admin.StartOffsets(ctx, group.Topics)
	if err != nil {
		return err
	}
	records, began := 0, time.Now()
	count, stop := progressMeter(ctx).Begin("project "+group.Name, "records", recordsBetween(starts, ends))
	defer stop()
	err = log.readTo(ctx, group.Topics, ends, projectBatch, func(batch []kafka.Record) error {
		records += len(batch)
		count(int64(len(batch)))
		return projection.Write(ctx, group.Name, batch)
	})
	if err != nil {
		return fmt.Errorf("project the log: %w", err)
	}
	s.logger.Info("log projected", "group", group.Name, "records", records, "unreadable", projection.Unreadable, "took", time.Since(began))
	return nil
}

// print writes the report. It returns errDiffers if a table differs, or else errOutdated if one is
// outdated.
func (r *verifyRun) print(reports []*verify.TableReport) error {
	states := map[string]bool{}
	for _, report := range reports {
		states[report.State] = true
	}
	if r.asJSON {
		encoder := json.NewEncoder(r.out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]any{"equal": !states[verify.Differs] && !states[verify.Outdated], "tables": reports}); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	} else {
		r.printText(reports)
	}
	switch {
	case states[verify.Differs]:
		return errDiffers
	case states[verify.Outdated]:
		return errOutdated
	}
	return nil
}

// summary says what a table's state means, in figures.
func summary(r *verify.TableReport) string {
	missing := r.Expected - min(r.Expected, r.Rows-min(r.Rows, r.More))
	more := ""
	if r.More > 0 {
		more = fmt.Sprintf(", and %d more that the log has no longer, or not yet", r.More)
	}
	switch {
	case r.State == verify.Equal && r.Checksum == r.ExpectedChecksum:
		return fmt.Sprintf("%d rows %s", r.Expected, r.Checksum)
	case r.State == verify.Equal:
		return fmt.Sprintf("all %d rows of the log are there, as they should be or in a later state%s", r.Expected, more)
	case r.State == verify.Waiting:
		return fmt.Sprintf("%d of %d rows are there; the other %d wait until the minutes of their legs are valued, which `mintlake up` does%s", r.Expected-r.Waits, r.Expected, r.Waits, more)
	case r.State == verify.Outdated:
		return fmt.Sprintf("%d rows are there, %d to come: an earlier version's rules made them", r.Rows, missing)
	default:
		return fmt.Sprintf("expected %d rows %s, has %d rows %s%s", r.Expected, r.ExpectedChecksum, r.Rows, r.Checksum, more)
	}
}

func (r *verifyRun) printText(reports []*verify.TableReport) {
	for _, report := range reports {
		fmt.Fprintf(r.out, "%-24s %-8s %s\n", report.Table, report.State, summary(report))
		for part, message := range report.BrokenParts {
			fmt.Fprintf(r.out, "  part %s is broken: %s\n", part, message)
		}
		for _, f := range report.Findings {
			switch {
			case f.Unreadable != "":
				fmt.Fprintf(r.out, "  %s: cannot be read: %s\n    %s\n", f.Table, f.Unreadable, f.Rebuild)
			case f.From != nil:
				fmt.Fprintf(r.out, "  %s, %s to %s: expected %d rows, found %d\n    %s\n", f.Table, f.From.Format(time.RFC3339), f.To.Format(time.RFC3339), f.Expected, f.Found, f.Rebuild)
			case f.ToSlot == 0:
				fmt.Fprintf(r.out, "  %s: expected %d rows, found %d\n    %s\n", f.Table, f.Expected, f.Found, f.Rebuild)
			default:
				fmt.Fprintf(r.out, "  %s, slots %d to %d: expected %d rows, found %d\n    %s\n", f.Table, f.FromSlot, f.ToSlot, f.Expected, f.Found, f.Rebuild)
			}
		}
		if len(report.BrokenParts) > 0 && len(report.Findings) == 0 {
			fmt.Fprintf(r.out, "    mintlake rebuild --tables %s\n", report.Table)
		}
	}
}
