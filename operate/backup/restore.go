package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mintlake/mintlake/internal/meter"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// Restore makes a data folder of a backup.
type Restore struct {
	From, DataDir string
	// Claim claims the data folder, and returns the folder in it for the files of the unfinished
	// restore.
	Claim  func() (work string, err error)
	Engine Engine
	// Progress may be nil.
	Progress meter.Meter
	Out      io.Writer
}

// Run makes the data folder.
func (r *Restore) Run(ctx context.Context) error {
	from, err := filepath.Abs(r.From)
	if err != nil {
		return err
	}
	manifest, err := Read(ctx, from, r.Progress)
	if err != nil {
		return err
	}
	if err := r.empty(); err != nil {
		return err
	}
	work, err := r.Claim()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil { // what an interrupted restore left
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
	_, _ = fmt.Fprintf(r.Out, "%s is as it was at %s; start it with: mintlake up --data-dir %s\n", r.DataDir, manifest.CreatedAt.Format("2006-01-02 15:04:05 MST"), r.DataDir)
	if !manifest.Tables {
		_, _ = fmt.Fprintln(r.Out, "the backup has no tables: they are made anew from the log")
	}
	return nil
}

// files copies all files but those of the tables, which ClickHouse restores itself.
func (r *Restore) files(ctx context.Context, manifest *Manifest, from, work string) error {
	const ofTables = clickhouseFolder + "/"
	count, end := r.Progress.Begin("copy the log and other files", meter.Bytes, manifest.Size("")-manifest.Size(ofTables))
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
			return fmt.Errorf("%s lists %q, which leads out of the folder: do not use this backup", Name, file.Name)
		}
		if err := CopyFile(filepath.Join(from, name), filepath.Join(work, name)); err != nil {
			return fmt.Errorf("copy %s: %w", file.Name, err)
		}
		count(file.Size)
	}
	return nil
}

// empty returns an error if the data folder has files. lost+found and the marker of data folders do
// not count. After an interrupted restore no file counts: the restore made them.
func (r *Restore) empty() error {
	entries, err := os.ReadDir(r.DataDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unfinished := false
	for _, entry := range entries {
		unfinished = unfinished || entry.Name() == RestoreFolder
	}
	for _, entry := range entries {
		switch entry.Name() {
		case RestoreFolder, "lost+found", "MINTLAKE_DATA":
			continue
		}
		if !unfinished {
			return fmt.Errorf("the data folder %s is not empty: it holds %q; name a new one with --data-dir, or move this one away", r.DataDir, entry.Name())
		}
	}
	return nil
}

// tables has an embedded engine restore the tables into folder.
func (r *Restore) tables(ctx context.Context, manifest *Manifest, from, folder string) (err error) {
	engine, stop, err := r.Engine.start(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	conn, err := openEngineOf(ctx, engine.DSN(), folder)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+schema.Database); err != nil {
		return fmt.Errorf("restore the tables: %w", err)
	}
	defer r.Progress.Folder("restore the tables", folder, manifest.Size(clickhouseFolder+"/"))()
	for _, step := range steps() {
		if err := conn.Exec(ctx, "RESTORE "+step.what+" FROM "+fileOf(from, step)); err != nil {
			return fmt.Errorf("restore the tables: %w", err)
		}
	}
	return nil
}

// moveIn moves the restored files into the data folder, the log last. While the folder work exists,
// all other commands refuse the data folder.
func (r *Restore) moveIn(work string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	move := func(name string) error {
		to := filepath.Join(r.DataDir, name)
		// The folder's marker, or what an interrupted restore left, may be in the way.
		if err := os.RemoveAll(to); err != nil {
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
