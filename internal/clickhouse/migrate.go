package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cenkalti/backoff/v5"
)

// MigrationsTable is the table in the migrated database that records the applied migrations.
const MigrationsTable = "schema_migrations"

var (
	// ErrChangedMigration says that a file was changed after it had been applied.
	ErrChangedMigration = errors.New("an applied migration was changed")
	// ErrNewerDatabase says that the database has migrations that this program does not know.
	ErrNewerDatabase = errors.New("the database is newer than this program")
)

// Migrate applies the migrations of files that opt.Database does not have yet, and returns their
// names in order. Files are NNNN_name.sql. A statement ends with a semicolon at the end of a line,
// a line that begins with -- is a comment. Each file is a text/template with {{.Database}},
// {{engine "ReplacingMergeTree" "version"}} and {{onCluster}}.
//
// A migration is recorded after its last statement. If a run is killed, the next one repeats the
// migration from its beginning. So each CREATE, DROP and ALTER must be repeatable; Migrate refuses
// those that clearly are not. For the same reason two runs at once are harmless. A view of an
// earlier migration that is missing is made again, and is among the names; a missing table is an
// error. Errors: ErrChangedMigration, ErrNewerDatabase, ErrMissingTable, and the server's.
func Migrate(ctx context.Context, conn driver.Conn, files fs.FS, opt Options) (applied []string, err error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	all, err := loadMigrations(files)
	if err != nil {
		return nil, err
	}
	// Render all files before the first statement runs: a mistake in the last file must not leave a
	// half-migrated database.
	rendered := make([][]string, len(all))
	for i, m := range all {
		if rendered[i], err = m.statements(opt); err != nil {
			return nil, err
		}
	}
	if err := prepareDatabase(ctx, conn, opt); err != nil {
		return nil, err
	}
	done, err := appliedMigrations(ctx, conn, opt.Database)
	if err != nil {
		return nil, err
	}
	if err := compare(all, done, opt.Database); err != nil {
		return nil, err
	}
	if applied, err = mend(ctx, conn, all[:len(done)], rendered[:len(done)], opt); err != nil {
		return applied, err
	}
	for i, m := range all[len(done):] {
		for n, statement := range rendered[len(done)+i] {
			if err := execBesideOthers(ctx, conn, statement); err != nil {
				return applied, fmt.Errorf("migration %s, statement %d: %w", m.name, n+1, err)
			}
		}
		if err := record(ctx, conn, opt.Database, m); err != nil {
			return applied, err
		}
		applied = append(applied, m.name)
	}
	return applied, nil
}

// replacedMeanwhile are ClickHouse's codes for a view that another statement replaced:
// UNKNOWN_TABLE, FILE_DOESNT_EXIST, TABLE_IS_DROPPED, CANNOT_ASSIGN_ALTER, ATOMIC_RENAME_FAIL.
var replacedMeanwhile = []int32{60, 107, 218, 517, 521}

// execBesideOthers runs a statement. If another run of Migrate replaces the same view at the same
// time, it tries again for half a minute.
func execBesideOthers(ctx context.Context, conn driver.Conn, statement string) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := conn.Exec(ctx, statement)
		var exception *ch.Exception
		if err == nil || errors.As(err, &exception) && slices.Contains(replacedMeanwhile, exception.Code) {
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(err)
	}, backoff.WithMaxElapsedTime(30*time.Second))
	return err
}

// prepareDatabase creates the database and MigrationsTable if they are missing.
func prepareDatabase(ctx context.Context, conn driver.Conn, opt Options) error {
	if err := conn.Exec(ctx, fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s %s ENGINE = Atomic", opt.Database, opt.onCluster())); err != nil {
		return fmt.Errorf("create database %s: %w", opt.Database, err)
	}
	// In a cluster all servers share this table: there is no {shard} in its path, and the shard is
	// in the name of the replica.
	engine := "ReplacingMergeTree(applied_at)"
	if opt.Cluster != "" {
		engine = "ReplicatedReplacingMergeTree(" + replicaOfRecord + ", applied_at)"
	}
	err := conn.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s.%s %s
(
    version    UInt32        COMMENT 'Number of the migration',
    name       String        COMMENT 'File name',
    checksum   String        COMMENT 'SHA-256 of the file, hexadecimal',
    applied_at DateTime64(3, 'UTC') COMMENT 'When its last statement had run'
)
ENGINE = %s
ORDER BY version
COMMENT 'Migrations that were applied to this database'`, opt.Database, MigrationsTable, opt.onCluster(), engine))
	if err != nil {
		return fmt.Errorf("create %s.%s: %w", opt.Database, MigrationsTable, err)
	}
	return nil
}

// appliedMigration is a row of MigrationsTable.
type appliedMigration struct {
	Version  uint32 `ch:"version"`
	Name     string `ch:"name"`
	Checksum string `ch:"checksum"`
}

func appliedMigrations(ctx context.Context, conn driver.Conn, database string) ([]appliedMigration, error) {
	var done []appliedMigration
	err := conn.Select(ctx, &done, fmt.Sprintf("SELECT version, name, checksum FROM %s.%s FINAL ORDER BY version", database, MigrationsTable))
	if err != nil {
		return nil, fmt.Errorf("read %s.%s: %w", database, MigrationsTable, err)
	}
	return done, nil
}

// compare returns an error unless the applied migrations are the first ones of this program,
// unchanged.
func compare(all []migration, done []appliedMigration, database string) error {
	if len(done) > 0 {
		if last := done[len(done)-1]; int(last.Version) > len(all) {
			return fmt.Errorf("%w: %s has migration %s, the newest that this program knows is %04d: run the newer mintlake", ErrNewerDatabase, database, last.Name, len(all))
		}
	}
	for i, d := range done {
		if int(d.Version) != i+1 {
			return fmt.Errorf("%s.%s lacks migration %04d but has %s: restore the table's rows", database, MigrationsTable, i+1, d.Name)
		}
		if m := all[i]; m.checksum != d.Checksum {
			return fmt.Errorf("%w: %s differs from what %s got (sha256 %.12s, was %.12s): restore the file and put the change into a new migration", ErrChangedMigration, m.name, database, m.checksum, d.Checksum)
		}
	}
	return nil
}

func record(ctx context.Context, conn driver.Conn, database string, m migration) error {
	columns := []Column{{"version", "UInt32"}, {"name", "String"}, {"checksum", "String"}, {"applied_at", "DateTime64(3, 'UTC')"}}
	err := Insert(ctx, conn, database+"."+MigrationsTable, columns, func(rows driver.Batch) error {
		return rows.Append(m.version, m.name, m.checksum, time.Now().UTC())
	})
	if err != nil {
		return fmt.Errorf("record migration %s: %w", m.name, err)
	}
	return nil
}
