package chengine_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestMain(m *testing.M) {
	runHelperProcess()
	os.Exit(chtest.Main(m))
}

func testLogger() *slog.Logger {
	if os.Getenv("MINTLAKE_TEST_CLICKHOUSE_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// running is an engine of one test.
type running struct {
	*chengine.Engine
	registry *prometheus.Registry
	dir      string
	stop     func() error // ends Run and returns its error; may be called twice
}

// launch runs an engine until the test ends. It does not wait for readiness.
func launch(t *testing.T, cfg chengine.Config, adjust ...func(*chengine.Engine)) *running {
	t.Helper()
	return launchWith(t, cfg, testLogger(), adjust...)
}

func launchWith(t *testing.T, cfg chengine.Config, logger *slog.Logger, adjust ...func(*chengine.Engine)) *running {
	t.Helper()
	chtest.NeedsEngine(t)
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.MaxMemoryBytes == 0 {
		cfg.MaxMemoryBytes = 2 << 30
	}
	registry := prometheus.NewRegistry()
	e, err := chengine.New(cfg, chengine.Deps{Logger: logger, Registerer: registry})
	require.NoError(t, err)
	// A machine that stands still for a while must not cost a child: only the test of a hanging one
	// wants that.
	e.SetPing(5*time.Second, 5*time.Minute)
	for _, f := range adjust {
		f(e)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var runErr error
	go func() {
		defer close(done)
		runErr = e.Run(ctx)
	}()
	r := &running{Engine: e, registry: registry, dir: cfg.DataDir, stop: func() error {
		cancel()
		<-done
		return runErr
	}}
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func start(t *testing.T, cfg chengine.Config) *running {
	t.Helper()
	r := launch(t, cfg)
	require.NoError(t, waitReady(t, r))
	return r
}

func waitReady(t *testing.T, r *running) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	return r.WaitReady(ctx)
}

// signalChild sends a signal to the child, waiting for one while there is none, and returns its
// process id.
func signalChild(t *testing.T, r *running, signal syscall.Signal) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		pid = r.PID()
		// 0 would be everybody in our process group
		return pid != 0 && syscall.Kill(pid, signal) == nil
	}, 2*time.Minute, time.Millisecond)
	return pid
}

// answer is what curl would show.
type answer struct {
	status int
	body   string
	header http.Header
}

// curl sends a request as curl does: GET without a body, POST with one. params are further URL
// parameters.
func curl(t *testing.T, addr, query, body string, params ...string) answer {
	t.Helper()
	values := url.Values{}
	if query != "" {
		values.Set("query", query)
	}
	for i := 0; i+1 < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	method, reader := http.MethodGet, io.Reader(nil)
	if body != "" {
		method, reader = http.MethodPost, strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+"/?"+values.Encode(), reader)
	require.NoError(t, err)
	return send(t, request)
}

func send(t *testing.T, request *http.Request) answer {
	t.Helper()
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, string(body), response.Header}
}
