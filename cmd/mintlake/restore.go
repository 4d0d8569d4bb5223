package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/internal/backup"
	"github.com/mintlake/mintlake/internal/meter"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

type restoreRun struct {
	from     string
	out      io.Writer
	cfg      *Config
	logger   *slog.Logger
	progress meter.Meter
}

func restoreCommand() *cobra.Command {
	var run restoreRun
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make a data folder of a backup",
		Long: `Make the data folder --data-dir of a folder that "mintlake backup" wrote, here or on another machine. Every file is compared with the backup's list
first. The data folder must be empty or new; a restore that was interrupted is run again as it was.

The next "mintlake up" makes anew what is not in the backup: the rows that the log has and the tables have not, and the slots since, as after any stop.`,
		Example: `  mintlake restore --from /backup/2026-11-23 --data-dir /var/lib/mintlake`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		run.cfg, run.logger, run.out, run.progress = cfg, logger, cmd.OutOrStdout(), progressMeter(ctx)
		if err := run.run(ctx); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		return nil
	})
	cmd.Flags().StringVar(&run.from, "from", "", "folder of the backup")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func (r *restoreRun) run(ctx context.Context) error {
	if len(r.cfg.Kafka.Brokers) > 0 || r.cfg.ClickHouse.DSN != "" {
		return errors.New("it is for one machine with embedded engines; a cluster is restored with its own tools (docs/operations.md)")
	}
	from, err := filepath.Abs(r.from)
	if err != nil {
		return err
	}
	manifest, err := backup.Read(ctx, from, r.progress)
	if err != nil {
		return err
	}
	if err := r.empty(); err != nil {
		return err
	}
	work, err := r.cfg.dataPath(restoreFolder)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil { // of a restore that was interrupted
		return err
	}
	if err := r.files(ctx, manifest, from, work); err != nil {
		return err
	}
	if manifest.Tables {
		if err := r.tables(ctx, manifest, from, filepath.Join(work, clickhouseFolder)); err != nil {
			return err
		}
	}
	if err := r.moveIn(work); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(r.out, "%s is as it was at %s; start it with: mintlake up --data-dir %s\n", r.cfg.DataDir, manifest.CreatedAt.Format("2006-01-02 15:04:05 MST"), r.cfg.DataDir)
	if !manifest.Tables {
		_, _ = fmt.Fprintln(r.out, "the backup has no tables: they are made anew from the log")
	}
	return nil
}

// files copies all files but those of the tables, which ClickHouse restores itself.
func (r *restoreRun) files(ctx context.Context, manifest *backup.Manifest, from, work string) error {
	const ofTables = clickhouseFolder + "/"
	count, end := r.progress.Begin("copy the log and other files", meter.Bytes, manifest.Size("")-manifest.Size(ofTables))
	defer end()
	for _, file := range manifest.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(file.Name, ofTables) {
			continue
		}
		name := filepath.FromSlash(file.Name)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("%s lists %q, which leads out of the folder: do not use this backup", backup.Name, file.Name)
		}
		if err := backup.CopyFile(filepath.Join(from, name), filepath.Join(work, name)); err != nil {
			return fmt.Errorf("copy %s: %w", file.Name, err)
		}
		count(file.Size)
	}
	return nil
}

// empty returns an error if the data folder has files. lost+found and the marker of data folders do
// not count. After an interrupted restore no file counts: the restore made them.
func (r *restoreRun) empty() error {
	entries, err := os.ReadDir(r.cfg.DataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unfinished := false
	for _, entry := range entries {
		unfinished = unfinished || entry.Name() == restoreFolder
	}
	for _, entry := range entries {
		switch entry.Name() {
		case restoreFolder, "lost+found", "MINTLAKE_DATA":
			continue
		}
		if !unfinished {
			return fmt.Errorf("the data folder %s is not empty: it holds %q; name a new one with --data-dir, or move this one away", r.cfg.DataDir, entry.Name())
		}
	}
	return nil
}

// tables has an embedded engine restore the tables into folder.
func (r *restoreRun) tables(ctx context.Context, manifest *backup.Manifest, from, folder string) (err error) {
	lc := newLifecycle(r.logger, r.cfg.StopTimeout)
	defer func() { err = errors.Join(err, lc.stop()) }()
	dsn, err := startEngine(ctx, r.cfg, r.logger, lc, folder)
	if err != nil {
		return err
	}
	conn, err := openEngineOf(ctx, dsn, folder)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+schema.Database); err != nil {
		return fmt.Errorf("restore the tables: %w", err)
	}
	defer r.progress.Folder("restore the tables", folder, manifest.Size(clickhouseFolder+"/"))()
	for _, step := range backupSteps() {
		if err := conn.Exec(ctx, "RESTORE "+step.what+" FROM "+backupFile(from, step)); err != nil {
			return fmt.Errorf("restore the tables: %w", err)
		}
	}
	return nil
}

// moveIn moves the restored files into the data folder, the log last. Until work is removed,
// dataPath refuses the data folder to all other commands.
func (r *restoreRun) moveIn(work string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	move := func(name string) error {
		to := filepath.Join(r.cfg.DataDir, name)
		if err := os.RemoveAll(to); err != nil { // the marker; or of an interrupted restore
			return err
		}
		return os.Rename(filepath.Join(work, name), to)
	}
	for _, entry := range entries {
		if entry.Name() == kafkaFolder {
			continue
		}
		if err := move(entry.Name()); err != nil {
			return err
		}
	}
	if err := move(kafkaFolder); err != nil {
		return err
	}
	return os.Remove(work)
}
