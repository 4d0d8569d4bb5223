// Package chengine runs the real ClickHouse engine (libchdb) on this machine, in a child process.
//
// In: a data directory, a loopback address, the path of libchdb.so, limits of memory and threads.
// Out: ClickHouse's HTTP interface on that address, for clickhouse-go, curl, Grafana and other
// clients. Guarantees: a crash of the engine costs a restart, and not the service, since the engine
// is in a child process. The parent has the listening socket, so a connection that is made during a
// restart waits and does not fail. Every row that was acknowledged is there after the restart. The
// child ends with its parent. Only one process uses a data directory. An error says in one line
// what is wrong, where, and what to do.
//
// The child is this same executable started again. Call MaybeRunChild first in main, and in
// TestMain of tests that start an Engine.
package chengine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// startTimeout is how long one start may take: a large directory loads its parts first.
const startTimeout = 2 * time.Minute

// Config of an Engine.
type Config struct {
	// DataDir is the folder of the data. It is created if it is missing, and must be empty or ours.
	DataDir string
	// Addr is the loopback address to serve on. Default "127.0.0.1:8123". Port 0 takes a free port:
	// see Engine.Addr.
	Addr string
	// AllowedHosts are host names besides localhost that requests may have in their Host header:
	// see access/hosts.
	AllowedHosts []string
	// MaxMemoryBytes limits the engine's memory; a query that needs more fails with code 241.
	// Default half of the machine's memory, at most 8 GiB.
	MaxMemoryBytes int64
	// Threads limits the threads of one query. Default the number of cores.
	Threads int
	// KeepFree is how many bytes of the file system must stay free. With less, the engine refuses
	// writes with code 243 and begins no merge. With 0 it writes until the disk is full; a merge
	// that meets a full disk can leave a part without rows.
	KeepFree uint64
	// connections is how many queries run at once; others wait. Default 8.
	connections int
	// maxInsertBytes limits the data of one INSERT. Default 256 MiB.
	maxInsertBytes int64
	// NoSync leaves it to the kernel when inserted rows get to the disk. By default they are on
	// disk before the insert is acknowledged, which takes 1 to 5 ms. So a power cut cannot lose
	// rows whose Kafka offsets are committed. A crash of a process loses nothing in either case.
	NoSync bool
	// stopTimeout is how long running queries may take to end after Run was stopped. Default 10 s.
	stopTimeout time.Duration
	// LetGo is how long the engine may take to end a killed query; after that its process is
	// replaced. Default 15 s.
	LetGo time.Duration
	// maxFailedStarts is how many starts in a row may fail before Run gives up. Default 5.
	maxFailedStarts int
}

// Deps are the engine's collaborators. Both may be nil.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Engine runs ClickHouse in a child process and restarts it.
type Engine struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	ready   chan struct{} // closed at the first readiness
	done    chan struct{} // closed when Run returns

	pingEvery, pingTimeout time.Duration

	mu      sync.Mutex
	addr    string
	pid     int
	runErr  error
	started bool
}

// New validates cfg and registers metrics. It uses neither disk nor network.
func New(cfg Config, deps Deps) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	return &Engine{
		cfg: cfg, log: deps.Logger, metrics: m, addr: cfg.Addr, ready: make(chan struct{}), done: make(chan struct{}),
		pingEvery: 5 * time.Second, pingTimeout: 10 * time.Second,
	}, nil
}

func (c Config) withDefaults() Config {
	setDefault(&c.Addr, "127.0.0.1:8123")
	setDefault(&c.MaxMemoryBytes, defaultMemory())
	setDefault(&c.Threads, runtime.NumCPU())
	setDefault(&c.connections, 8)
	setDefault(&c.maxInsertBytes, 256<<20)
	setDefault(&c.stopTimeout, 10*time.Second)
	setDefault(&c.LetGo, 15*time.Second)
	setDefault(&c.maxFailedStarts, 5)
	return c
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

func (c Config) validate() error {
	var errs []error
	if c.DataDir == "" {
		errs = append(errs, errors.New("clickhouse data directory is empty: name a folder"))
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		errs = append(errs, fmt.Errorf("clickhouse address %q: %w: give host:port, for example 127.0.0.1:8123", c.Addr, err))
	} else if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		errs = append(errs, fmt.Errorf("clickhouse address %q is not loopback: the embedded engine must not be reachable from elsewhere, use 127.0.0.1:PORT", c.Addr))
	}
	if c.MaxMemoryBytes < 256<<20 {
		errs = append(errs, fmt.Errorf("clickhouse memory cap of %d bytes is too small: the engine needs at least 268435456 (256 MiB)", c.MaxMemoryBytes))
	}
	if c.Threads < 1 || c.connections < 1 || c.connections > 64 || c.maxInsertBytes < 1 || c.maxFailedStarts < 1 {
		errs = append(errs, errors.New("clickhouse threads, connections (1 to 64), insert size and failed starts must be positive"))
	}
	return errors.Join(errs...)
}

// Run starts the engine and keeps it running until ctx ends; then it returns nil. It may be called
// once. Its errors wrap ErrLibraryMissing, ErrLocked, ErrForeignDirectory, ErrNewerData,
// ErrPortTaken or ErrUnsupported. If the engine does not become ready, the error is a *StartError.
func (e *Engine) Run(ctx context.Context) error {
	e.mu.Lock()
	if e.started {
		e.mu.Unlock()
		return errors.New("embedded clickhouse: Run was called twice")
	}
	e.started = true
	e.mu.Unlock()

	err := e.run(ctx)
	e.mu.Lock()
	e.runErr = err
	e.mu.Unlock()
	close(e.done)
	return err
}

// run locks the data directory, opens the listener, and keeps a child running on them.
func (e *Engine) run(ctx context.Context) error {
	library, err := FindLibrary()
	if err != nil {
		return err
	}
	dir, err := openDataDir(ctx, e.cfg.DataDir)
	if err != nil {
		return err
	}
	defer dir.close()
	listener, err := listen(e.cfg.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // nothing is written through a listener
	e.mu.Lock()
	e.addr = listener.Addr().String()
	e.mu.Unlock()
	return e.supervise(ctx, library, dir, listener)
}

// Ready is closed when the engine is ready for the first time. If Run fails before, it is never
// closed: see WaitReady.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// WaitReady waits until the engine is ready. It returns Run's error if Run ended before, or the
// context's.
func (e *Engine) WaitReady(ctx context.Context) error {
	select {
	case <-e.ready:
		return nil
	case <-e.done:
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runErr != nil {
			return e.runErr
		}
		return errors.New("embedded clickhouse stopped before it was ready")
	case <-ctx.Done():
		return fmt.Errorf("wait for embedded clickhouse: %w", ctx.Err())
	}
}

// Addr is the address that the engine serves on. If the configured port is 0, the real one is known
// only when the engine is ready.
func (e *Engine) Addr() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.addr
}

// DSN is the data source name for clickhouse-go and internal/clickhouse. It is final when the
// engine is ready, see Addr.
func (e *Engine) DSN() string { return "http://" + e.Addr() + "/default" }

// PID is the process id of the current child, 0 while there is none.
func (e *Engine) PID() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pid
}

func (e *Engine) setPID(pid int) {
	e.mu.Lock()
	e.pid = pid
	e.mu.Unlock()
}
