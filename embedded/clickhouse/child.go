package chengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mintlake/mintlake/embedded/clickhouse/chhttp"
	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
	"github.com/mintlake/mintlake/internal/framing"
)

// childEnv is the environment variable that makes this program the engine's child; its value is a
// childSpec.
const childEnv = "MINTLAKE_EMBEDDED_CLICKHOUSE_CHILD"

// File descriptors that the child inherits, in the order of exec.Cmd.ExtraFiles. Descriptor 5, the
// lock of the data directory, only has to stay open. The parent holds the other end of lifeFD.
const (
	listenerFD = 3
	statusFD   = 4
	lifeFD     = 6
)

// pinnedConnections is how many sessions can have temporary tables at once.
const pinnedConnections = 16

// childSpec is what the parent gives the child at its start.
type childSpec struct {
	Parent       int    `json:"parent"` // process id
	Library      string `json:"library"`
	Dir          string `json:"dir"`
	ServerConfig string `json:"server_config"`
	Connections  int    `json:"connections"`
	// Settings are what every query starts with.
	Settings       map[string]string `json:"settings"`
	MaxInsertBytes int64             `json:"max_insert_bytes"`
	AllowedHosts   []string          `json:"allowed_hosts"`
	StopTimeout    time.Duration     `json:"stop_timeout"`
	// LetGo is how long the engine may take to end a killed query.
	LetGo time.Duration `json:"let_go"`
}

// childStatus is the first line that the child writes to its parent, about its start. A childReport
// each second follows.
type childStatus struct {
	Version   string `json:"version,omitempty"` // of the engine, when it is ready
	Error     string `json:"error,omitempty"`   // why it is not
	Permanent bool   `json:"permanent,omitempty"`
}

// MaybeRunChild must be the first call of main, and of TestMain in tests that start an Engine. In
// the child it serves ClickHouse and never returns; elsewhere it does nothing.
func MaybeRunChild() {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	var spec childSpec
	err := errors.Join(os.Unsetenv(childEnv), json.Unmarshal([]byte(text), &spec))
	if err == nil {
		err = runChild(spec, log)
	}
	if err != nil {
		log.Error("embedded clickhouse ended", "err", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runChild opens the engine, reports to the parent, and serves until the parent wants the end.
func runChild(spec childSpec, log *slog.Logger) error {
	// Ctrl-C reaches the whole process group, but the parent decides when the engine stops.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	if os.Getppid() != spec.Parent {
		return errors.New("the parent is gone already")
	}
	// If the machine runs out of memory, the kernel shall kill this process and not the service. It
	// works without this setting, too, so an error is ignored.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0o600)

	stop, serving := watchParent()
	status := os.NewFile(statusFD, "status")
	pool, err := openPool(spec)
	if err != nil {
		report(status, childStatus{Error: err.Error(), Permanent: errors.Is(err, libchdb.ErrLoad)}, log)
		return err
	}
	listener, err := net.FileListener(os.NewFile(listenerFD, "listener"))
	if err != nil {
		report(status, childStatus{Error: err.Error()}, log)
		return fmt.Errorf("take over listener: %w", err)
	}
	serving.Store(true)
	report(status, childStatus{Version: pool.Version()}, log)
	go watchQueries(pool, spec.LetGo, status, log)
	return serve(stop, listener, pool, spec, log)
}

// openPool loads the library and opens the data directory.
func openPool(spec childSpec) (*libchdb.Pool, error) {
	library, err := libchdb.Load(spec.Library)
	if err != nil {
		return nil, err
	}
	return library.Open(libchdb.PoolConfig{
		Dir: spec.Dir, Connections: spec.Connections, Pinned: pinnedConnections, Settings: spec.Settings, AcquireTimeout: 30 * time.Second,
		Args: []string{"--config-file=" + spec.ServerConfig},
	})
}

// watchParent returns a context that ends at SIGTERM, or when the parent closes its end of lifeFD
// or dies. Until serving is set, the end of the context also ends the process: the start of the
// engine cannot be interrupted, and there is nothing to finish.
func watchParent() (stop context.Context, serving *atomic.Bool) {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	serving = &atomic.Bool{}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifeFD, "life")) // an error is an end, too
		cancel()
	}()
	go func() {
		<-stop.Done()
		if !serving.Load() {
			os.Exit(0)
		}
	}()
	return stop, serving
}

// report sends the parent the status of the start.
func report(pipe *os.File, status childStatus, log *slog.Logger) {
	if err := json.NewEncoder(pipe).Encode(status); err != nil {
		log.Error("tell the parent about the start", "err", err)
	}
}

// maxHead bounds the head of a request, in bytes. Its URL carries the parameters of a query, as
// with a ClickHouse server (http_max_uri_size is 1 MiB). A longer head is answered with status 431.
const maxHead = 1 << 20

// serve answers requests until stop ends. Then running requests may take spec.StopTimeout to
// finish.
func serve(stop context.Context, listener net.Listener, pool *libchdb.Pool, spec childSpec, log *slog.Logger) error {
	server := &http.Server{
		Handler:           chhttp.New(chhttp.Config{MaxInsertBytes: spec.MaxInsertBytes, AllowedHosts: spec.AllowedHosts}, chhttp.Deps{Pool: pool, Logger: log}),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    maxHead,
		// Longer than clients keep idle connections, so that the client always closes first.
		IdleTimeout: time.Hour,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	// net/http reads a little more than maxHead before it refuses.
	go func() { failed <- server.Serve(framing.LongLines(listener, maxHead+64<<10)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-stop.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), spec.StopTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		// Queries that still run lose their client now, so they are not acknowledged. What was
		// acknowledged is on disk.
		return fmt.Errorf("stop with queries running: %w", err)
	}
	pool.Close()
	return nil
}
