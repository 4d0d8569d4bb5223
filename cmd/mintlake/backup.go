package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/backup"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// Folders in a data folder that a backup treats specially; everything else is copied as files.
// Recordings are not in a backup: they are large, and can be copied by hand.
const (
	kafkaFolder      = "kafka"
	clickhouseFolder = "clickhouse"
	recordingsFolder = "recordings"
	restoreFolder    = "restore-unfinished"
)

// Files in a data folder in which a bootstrap or an import keeps how far it is.
const (
	bootstrapFile = "bootstrap-rpc.json"
	importFile    = "import.json"
	documentsFile = "documents.json"
)

// backupReadTimeout is how long ClickHouse may work on one BACKUP or RESTORE.
const backupReadTimeout = 24 * time.Hour

// backupStep is one BACKUP statement. Their order makes a backup of running tables consistent.
// swap_minutes_raw, which notes the valued minutes, is copied before the figures: a minute whose
// valuation is only half in the backup counts as dirty and is valued again. The numbers of
// valuations are copied after all rows that have them, so no number is given twice.
type backupStep struct{ folder, what string }

func backupSteps() []backupStep {
	const minutes, valuations = schema.Database + ".swap_minutes_raw", schema.Database + ".valuations"
	return []backupStep{
		{"1-minutes", "TABLE " + minutes},
		{"2-tables", "DATABASE " + schema.Database + " EXCEPT TABLES " + minutes + ", " + valuations},
		{"3-valuations", "TABLE " + valuations},
	}
}

type backupRun struct {
	to        string
	logOnly   bool
	out       io.Writer
	cfg       *Config
	logger    *slog.Logger
	lifecycle *lifecycle
	progress  meter.Meter
}

func backupCommand() *cobra.Command {
	var run backupRun
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy the log and the tables of one machine to a folder, while it runs or not",
		Long: `Copy what is under --data-dir to a folder: the embedded Kafka's log up to its last whole batch, every checksum compared; the tables of the embedded
ClickHouse; keys, logos and small files. A running node goes on meanwhile. "mintlake restore" makes a data folder of it, and what the node did during
the backup is done again from the log.

With --log-only the tables are left out: they are made anew from the log, but for what the log keeps no longer (swaps and slots of more than 30 days).
For a cluster use the tools of Kafka and ClickHouse: docs/operations.md.`,
		Example: `  mintlake backup --data-dir /var/lib/mintlake --to /backup/2026-11-23`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		run.cfg, run.logger, run.out, run.progress = cfg, logger, cmd.OutOrStdout(), progressMeter(ctx)
		if err := run.run(ctx); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		return nil
	})
	cmd.Flags().StringVar(&run.to, "to", "", "folder to write to; must be empty or new")
	cmd.Flags().BoolVar(&run.logOnly, "log-only", false, "leave ClickHouse's tables out")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func (r *backupRun) say(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format+"\n", args...) }

func (r *backupRun) run(ctx context.Context) (err error) {
	if len(r.cfg.Kafka.Brokers) > 0 {
		return errors.New("it is for one machine with the embedded Kafka; a cluster is backed up with its own tools (docs/operations.md)")
	}
	begin := time.Now()
	if r.to, err = newFolder(r.to); err != nil {
		return err
	}
	if err := outside(r.cfg.DataDir, r.to); err != nil {
		return err
	}
	logFrom, logTo := filepath.Join(r.cfg.DataDir, kafkaFolder), filepath.Join(r.to, kafkaFolder)
	if err := kafkabroker.CopyGroups(logFrom, logTo); err != nil {
		return err
	}
	if !r.logOnly {
		if err := r.tables(ctx); err != nil {
			return err
		}
		r.say("tables: done after %s", time.Since(begin).Round(time.Millisecond))
	}
	// These say what is in the log already, and must not say more than the copy has.
	for _, name := range progressFiles() {
		if err := backup.CopyFile(filepath.Join(r.cfg.DataDir, name), filepath.Join(r.to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	// The slot ledger first: its record of a slot says that all the slot's events are in the log.
	// The events were written before that record, so the rest of the log, which is copied next, has
	// them.
	if err := kafkabroker.CopyLog(ctx, logFrom, logTo, schemas.TopicSlots, r.progress); err != nil {
		return err
	}
	r.say("log: done after %s", time.Since(begin).Round(time.Millisecond))
	if err := copyOthers(ctx, r.cfg.DataDir, r.to, r.progress); err != nil {
		return err
	}
	manifest := backup.Manifest{CreatedAt: begin.UTC(), Version: version, Tables: !r.logOnly}
	if err := manifest.Write(ctx, r.to, r.progress); err != nil {
		return err
	}
	r.say("%d files, %d bytes, after %s\nrestore with: mintlake restore --from %s --data-dir NEW", len(manifest.Files), manifest.Size(""), time.Since(begin).Round(time.Millisecond), r.to)
	return nil
}

// newFolder makes a folder, or takes an empty one, and returns its absolute path.
func newFolder(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty: it holds %q; name a new folder", path, entries[0].Name())
	}
	return path, nil
}

// outside returns an error if folder is inside the data folder.
func outside(dataDir, folder string) error {
	path, err := filepath.Abs(dataDir)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(path, folder); err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return fmt.Errorf("%s lies in the data folder %s: name a folder elsewhere, best on another disk", folder, path)
	}
	return nil
}

// tables has ClickHouse write its tables into the backup. It uses the running engine if there is
// one, or else starts one.
func (r *backupRun) tables(ctx context.Context) (err error) {
	r.lifecycle = newLifecycle(r.logger, r.cfg.StopTimeout)
	defer func() { err = errors.Join(err, r.lifecycle.stop()) }()
	folder := filepath.Join(r.cfg.DataDir, clickhouseFolder)
	dsn := r.cfg.ClickHouse.DSN
	if dsn == "" {
		dsn = "http://" + r.cfg.ClickHouse.Addr
	}
	conn, err := openEngineOf(ctx, dsn, folder)
	if err != nil && r.cfg.ClickHouse.DSN != "" {
		return err
	}
	if err != nil {
		dsn, err = startEngine(ctx, r.cfg, r.logger, r.lifecycle, folder)
		if errors.Is(err, chengine.ErrLocked) {
			return fmt.Errorf("%w; or name the running node's ClickHouse, as `mintlake up` prints it: --clickhouse-dsn http://127.0.0.1:8123", err)
		}
		if err != nil {
			return err
		}
		if conn, err = openEngineOf(ctx, dsn, folder); err != nil {
			return err
		}
	}
	defer func() { _ = conn.Close() }()
	var size uint64
	if err := conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = $1", schema.Database).Scan(&size); err != nil {
		return fmt.Errorf("ask ClickHouse for the size of its tables: %w", err)
	}
	defer r.progress.Folder("copy the tables", filepath.Join(r.to, clickhouseFolder), int64(size))()
	for _, step := range backupSteps() {
		if err := conn.Exec(ctx, "BACKUP "+step.what+" TO "+backupFile(r.to, step)); err != nil {
			return fmt.Errorf("copy the tables: %w", err)
		}
	}
	return nil
}

func backupFile(folder string, step backupStep) string {
	return "File(" + clickhouse.Literal(filepath.Join(folder, clickhouseFolder, step.folder)) + ")"
}

// openEngineOf connects to the engine, and checks that its tables are those in folder.
func openEngineOf(ctx context.Context, dsn, folder string) (driver.Conn, error) {
	conn, err := openClickHouse(ctx, &backends{clickhouseDSN: dsn}, clickhouse.WithReadTimeout(backupReadTimeout))
	if err != nil {
		return nil, err
	}
	var path string
	if err := conn.QueryRow(ctx, "SELECT path FROM system.disks WHERE name = 'default'").Scan(&path); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("ask ClickHouse for its folder: %w", err)
	}
	want, err := filepath.Abs(filepath.Join(folder, "engine"))
	if err != nil || filepath.Clean(path) != want {
		_ = conn.Close()
		return nil, fmt.Errorf("the ClickHouse at %s keeps its tables in %s, not in %s: name the data folder's own, or use its BACKUP statement (docs/operations.md)", dsn, path, want)
	}
	return conn, nil
}

// startEngine starts the embedded engine on a free port and returns its address.
func startEngine(ctx context.Context, cfg *Config, logger *slog.Logger, lc *lifecycle, folder string) (string, error) {
	engine, err := chengine.New(chengine.Config{DataDir: folder, Addr: "127.0.0.1:0", MaxMemoryBytes: cfg.ClickHouse.MemoryBytes, Threads: cfg.ClickHouse.Threads},
		chengine.Deps{Logger: logger})
	if err != nil {
		return "", err
	}
	lc.start("embedded ClickHouse", engine.Run)
	if err := lc.await(ctx, engine.Ready()); err != nil {
		return "", err
	}
	return engine.DSN(), nil
}

// copyOthers copies the files that eachOther visits. A file that is removed meanwhile is left out.
func copyOthers(ctx context.Context, from, to string, progress meter.Meter) error {
	total := int64(0)
	err := eachOther(ctx, from, func(path, _ string) error {
		if info, err := os.Stat(path); err == nil {
			total += info.Size()
		}
		return nil
	})
	if err != nil {
		return err
	}
	count, end := progress.Begin("copy logos and other files", meter.Bytes, total)
	defer end()
	return eachOther(ctx, from, func(path, name string) error {
		target := filepath.Join(to, name)
		err := backup.CopyFile(path, target)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", path, err)
		}
		if info, err := os.Stat(target); err == nil {
			count(info.Size())
		}
		return nil
	})
}

func progressFiles() []string { return []string{bootstrapFile, importFile, documentsFile} }

// eachOther visits the regular files in from, but not those of the log and the tables, progress
// files, recordings, transactions that wait for the stream, and an unfinished restore. visit gets
// each file's path, and its name relative to from.
func eachOther(ctx context.Context, from string, visit func(path, name string) error) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != from { // replaced or removed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch name {
		case kafkaFolder, clickhouseFolder, recordingsFolder, spillFolder, restoreFolder, "lost+found":
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || slices.Contains(progressFiles(), name) {
			return nil
		}
		return visit(path, name)
	})
}
