package backup

import (
	"cmp"
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

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
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
	// SpillFolder has the transactions that wait to be published to the stream.
	SpillFolder = "stream-spill"
	// ValidatorFolder has the progress of a bootstrap from a validator's snapshot, and the files
	// that it needs meanwhile.
	ValidatorFolder = "validator-snapshot"
	// ReplicaFolder has the checkpoint of the API's copy of the registry. A start without it makes
	// the copy anew.
	ReplicaFolder = "replica"
	// RestoreFolder has the files of a restore that is not finished.
	RestoreFolder = "restore-unfinished"
)

// Files in a data folder in which a bootstrap or an import keeps how far it is.
const (
	BootstrapFile = "bootstrap-rpc.json"
	ImportFile    = "import.json"
	DocumentsFile = "documents.json"
)

// backupReadTimeout is how long ClickHouse may work on one BACKUP or RESTORE.
const backupReadTimeout = 24 * time.Hour

// step is one BACKUP statement. The order of the steps makes a backup of running tables consistent.
// swap_minutes_raw, which notes the valued minutes, is copied before the figures: a minute whose
// valuation is only half in the backup counts as dirty and is valued again. The numbers of
// valuations are copied after all rows that have them, so no number is given twice.
type step struct{ folder, what string }

func steps() []step {
	const minutes, valuations = schema.Database + ".swap_minutes_raw", schema.Database + ".valuations"
	return []step{
		{"1-minutes", "TABLE " + minutes},
		{"2-tables", "DATABASE " + schema.Database + " EXCEPT TABLES " + minutes + ", " + valuations},
		{"3-valuations", "TABLE " + valuations},
	}
}

// Backup is one backup.
type Backup struct {
	DataDir, To string
	// LogOnly leaves ClickHouse's tables out.
	LogOnly bool
	// DSN names the ClickHouse that holds the tables. If DSN is empty, the ClickHouse at
	// ClickHouseAddr is asked. If that does not have the tables of this folder, the backup starts
	// an engine.
	DSN, ClickHouseAddr string
	Engine              Engine
	// Version is that of this program.
	Version string
	// Progress may be nil.
	Progress meter.Meter
	Out      io.Writer
}

func (r *Backup) say(format string, args ...any) { _, _ = fmt.Fprintf(r.Out, format+"\n", args...) }

// Run copies the data folder.
func (r *Backup) Run(ctx context.Context) (err error) {
	begin := time.Now()
	if r.To, err = newFolder(r.To); err != nil {
		return err
	}
	if err := outside(r.DataDir, r.To); err != nil {
		return err
	}
	logFrom, logTo := filepath.Join(r.DataDir, kafkaFolder), filepath.Join(r.To, kafkaFolder)
	// Committed offsets are copied first: they must not be ahead of the tables and the log, which
	// are copied next. Readers of the copy then read some records again, and skip none.
	if err := kafkabroker.CopyGroups(logFrom, logTo); err != nil {
		return err
	}
	if !r.LogOnly {
		if err := r.tables(ctx); err != nil {
			return err
		}
		r.say("tables: done after %s", time.Since(begin).Round(time.Millisecond))
	}
	// The progress files say what is already in the log, and must not say more than the copy of the
	// log has. So they are copied before it.
	for _, name := range progressFiles() {
		if err := CopyFile(filepath.Join(r.DataDir, name), filepath.Join(r.To, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	// Of the log, the slot ledger is copied first: its record of a slot says that all the slot's
	// events are in the log. The events were written before that record, so the rest of the log,
	// which is copied next, has them.
	if err := kafkabroker.CopyLog(ctx, logFrom, logTo, schemas.TopicSlots, r.Progress); err != nil {
		return err
	}
	r.say("log: done after %s", time.Since(begin).Round(time.Millisecond))
	if err := copyOthers(ctx, r.DataDir, r.To, r.Progress); err != nil {
		return err
	}
	manifest := Manifest{CreatedAt: begin.UTC(), Version: r.Version, Tables: !r.LogOnly}
	if err := manifest.Write(ctx, r.To, r.Progress); err != nil {
		return err
	}
	r.say("%d files, %d bytes, after %s\nrestore with: mintlake restore --from %s --data-dir NEW", len(manifest.Files), manifest.Size(""), time.Since(begin).Round(time.Millisecond), r.To)
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
func (r *Backup) tables(ctx context.Context) (failed error) {
	folder := filepath.Join(r.DataDir, clickhouseFolder)
	conn, err := openEngineOf(ctx, cmp.Or(r.DSN, "http://"+r.ClickHouseAddr), folder)
	if err != nil && r.DSN != "" {
		return err
	}
	if err != nil {
		engine, stop, err := r.Engine.start(ctx, folder)
		if errors.Is(err, chengine.ErrLocked) {
			return fmt.Errorf("%w; or name the running node's ClickHouse, as `mintlake up` prints it: --clickhouse-dsn http://127.0.0.1:8123", err)
		}
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, stop()) }()
		if conn, err = openEngineOf(ctx, engine.DSN(), folder); err != nil {
			return err
		}
	}
	defer func() { _ = conn.Close() }()
	var size uint64
	if err := conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = $1", schema.Database).Scan(&size); err != nil {
		return fmt.Errorf("ask ClickHouse for the size of its tables: %w", err)
	}
	defer r.Progress.Folder("copy the tables", filepath.Join(r.To, clickhouseFolder), int64(size))()
	for _, step := range steps() {
		if err := conn.Exec(ctx, "BACKUP "+step.what+" TO "+fileOf(r.To, step)); err != nil {
			return fmt.Errorf("copy the tables: %w", err)
		}
	}
	return nil
}

// fileOf returns where a step's files are in a backup, as an argument of BACKUP and RESTORE.
func fileOf(folder string, step step) string {
	return "File(" + clickhouse.Literal(filepath.Join(folder, clickhouseFolder, step.folder)) + ")"
}

// openEngineOf connects to the ClickHouse at dsn, and checks that its tables are those in folder.
func openEngineOf(ctx context.Context, dsn, folder string) (driver.Conn, error) {
	conn, err := clickhouse.Open(ctx, dsn, clickhouse.WithReadTimeout(backupReadTimeout), clickhouse.WithDatabase("default"))
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

// Engine says how an embedded ClickHouse runs if one is needed.
type Engine struct {
	MaxMemoryBytes int64
	Threads        int
	Logger         *slog.Logger
}

func (e *Engine) start(ctx context.Context, folder string) (*chengine.Engine, func() error, error) {
	return chengine.Start(ctx, chengine.Config{DataDir: folder, Addr: "127.0.0.1:0", MaxMemoryBytes: e.MaxMemoryBytes, Threads: e.Threads}, chengine.Deps{Logger: e.Logger})
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
		err := CopyFile(path, target)
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

func progressFiles() []string { return []string{BootstrapFile, ImportFile, DocumentsFile} }

// eachOther visits the regular files in from, except those that a backup treats specially: the log,
// the tables and progress files are copied by other code. It also leaves out what needs no backup:
// recordings, transactions that wait for the stream, a validator's snapshot that is being read, the
// replica's checkpoint, an unfinished restore, and lost+found. visit gets each file's path, and its
// name relative to from.
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
		case kafkaFolder, clickhouseFolder, recordingsFolder, SpillFolder, ValidatorFolder, ReplicaFolder, RestoreFolder, "lost+found":
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || slices.Contains(progressFiles(), name) {
			return nil
		}
		return visit(path, name)
	})
}
