// Package chtest gives tests a real ClickHouse: the embedded engine in a temporary folder, or the
// server that MINTLAKE_TEST_CLICKHOUSE names as http://HOST:PORT (make test-containers).
//
// In: a test whose package has `func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }`. Out: a
// connection to an empty database of the test's own. Guarantees: a test binary starts one engine,
// at the first use (about 0.1 s), and stops and removes it at the end. A missing library fails the
// test and says how to get it: a skipped test would prove nothing.
package chtest

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

// shared is the test binary's engine. It is a global because TestMain and the tests have nothing
// else in common.
var shared struct {
	mainCalled atomic.Bool
	databases  atomic.Int64
	once       sync.Once
	engine     *chengine.Engine
	dir        string
	err        error
	stop       context.CancelFunc
	done       chan struct{}
}

// Main runs the tests and stops the engine that they used. Give its result to os.Exit. In the
// engine's child process it never returns.
func Main(m *testing.M) int {
	chengine.MaybeRunChild()
	shared.mainCalled.Store(true)
	code := m.Run()
	if shared.engine != nil {
		shared.stop()
		<-shared.done
	}
	if shared.dir != "" {
		if err := os.RemoveAll(shared.dir); err != nil {
			fmt.Fprintln(os.Stderr, "chtest:", err)
		}
	}
	return code
}

// Start returns a connection to an empty database of this test, and its data source name. Both end
// with the test. Set MINTLAKE_TEST_CLICKHOUSE_LOG=1 to see the engine's log.
func Start(t testing.TB) (conn driver.Conn, dsn string) {
	t.Helper()
	server := "http://" + Addr(t)
	// Several test binaries may use one server, so the name has the process ID.
	database := fmt.Sprintf("test_%d_%d", os.Getpid(), shared.databases.Add(1))
	admin, err := clickhouse.Open(context.Background(), server)
	if err != nil {
		t.Fatalf("chtest: %v", err)
	}
	if err := admin.Exec(context.Background(), "CREATE DATABASE "+database+" ENGINE = Atomic"); err != nil {
		t.Fatalf("chtest: create database: %v", err)
	}
	dsn = server + "/" + database
	conn, err = clickhouse.Open(context.Background(), dsn)
	if err != nil {
		t.Fatalf("chtest: %v", err)
	}
	t.Cleanup(func() {
		// The engine's folder is removed at the end of the binary anyway. This keeps it small until
		// then.
		_ = conn.Close()
		_ = admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+database+" SYNC")
		_ = admin.Close()
	})
	return conn, dsn
}

// Migrated is like Start, with all tables in the database that the product uses, schema.Database.
// That database ends with the test too.
func Migrated(t testing.TB) (conn driver.Conn, dsn string) {
	t.Helper()
	conn, dsn = Start(t)
	Migrate(t, conn, schema.Database)
	t.Cleanup(func() {
		if err := conn.Exec(context.Background(), "DROP DATABASE "+schema.Database+" SYNC"); err != nil {
			t.Errorf("chtest: %v", err)
		}
	})
	return conn, dsn
}

// InIndia returns dsn for connections in the time zone of India, whose hours begin at half past. A
// server may be in any zone, and what a query means must not depend on it.
func InIndia(dsn string) string { return dsn + "?session_timezone=Asia/Kolkata" }

// Migrate makes all tables in a database, which it creates if it is missing.
func Migrate(t testing.TB, conn driver.Conn, database string) {
	t.Helper()
	files, err := fs.Sub(schema.Migrations, "migrations")
	if err != nil {
		t.Fatalf("chtest: %v", err)
	}
	if _, err := clickhouse.Migrate(context.Background(), conn, files, clickhouse.Options{Database: database}); err != nil {
		t.Fatalf("chtest: %v", err)
	}
}

// Addr returns host and port of the HTTP interface: of the engine that all tests of this binary
// share, or of the server that the environment names.
func Addr(t testing.TB) string {
	t.Helper()
	if server, ok := strings.CutPrefix(os.Getenv("MINTLAKE_TEST_CLICKHOUSE"), "http://"); ok {
		return server
	}
	return Engine(t).Addr()
}

// Engine returns the engine that all tests of this binary share, ready to use.
func Engine(t testing.TB) *chengine.Engine {
	t.Helper()
	NeedsEngine(t)
	if !shared.mainCalled.Load() {
		t.Fatal("chtest: this package's TestMain must be: func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }")
	}
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatalf("chtest: %v", shared.err)
	}
	return shared.engine
}

// NeedsEngine skips the test under `go test -short`, which `make check` runs without engines.
func NeedsEngine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the embedded ClickHouse: make test runs it")
	}
}

func startShared() {
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("MINTLAKE_TEST_CLICKHOUSE_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if shared.dir, shared.err = os.MkdirTemp("", "mintlake-chtest-"); shared.err != nil {
		return
	}
	e, err := chengine.New(chengine.Config{DataDir: shared.dir, Addr: "127.0.0.1:0", MaxMemoryBytes: 2 << 30}, chengine.Deps{Logger: logger})
	if err != nil {
		shared.err = err
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	shared.engine, shared.stop, shared.done = e, stop, make(chan struct{})
	go func() {
		defer close(shared.done)
		_ = e.Run(ctx) // WaitReady returns its error
	}()
	wait, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	shared.err = e.WaitReady(wait)
}
