// Package e2e runs the real binary as an operator would and looks at what users see: the API,
// ClickHouse, the terminal.
//
// By default against the embedded engines; MINTLAKE_TEST_KAFKA=apache puts Apache Kafka in the
// embedded broker's place. MINTLAKE_TEST_BINARY names a program to look at in place of the one that
// is built here.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// binary is the program under test; demoFolder takes the demo chain's recording.
var binary, demoFolder string

func TestMain(m *testing.M) {
	serveNode()
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	flag.Parse()
	if testing.Short() {
		return 0, nil // every test here runs the whole system: make test runs them
	}
	dir, err := os.MkdirTemp("", "mintlake-e2e-*")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary, demoFolder = filepath.Join(dir, "mintlake"), filepath.Join(dir, "blocks")
	if other := os.Getenv("MINTLAKE_TEST_BINARY"); other != "" {
		binary = other
		return m.Run(), nil
	}
	build := exec.Command("go", "build", "-o", binary, "../cmd/mintlake")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// hang is what anything may take before it counts as hanging: a machine may be slow, or stand still
// for a while.
const hang = 5 * time.Minute

// until calls done until it is true. It calls it in the test's own goroutine: what done requires
// ends the test at once, where in require.Eventually it would end the waiting alone.
func until(t testing.TB, done func() bool, pause time.Duration, what ...any) {
	t.Helper()
	for deadline := time.Now().Add(hang); !done(); time.Sleep(pause) {
		require.True(t, time.Now().Before(deadline), what...)
	}
}

// instance is a running `mintlake up`.
type instance struct {
	t         testing.TB
	cmd       *exec.Cmd
	addresses map[string]string
	// up is closed when the addresses are known, exited when the process is gone.
	up, exited chan struct{}
	// refused, if set, gets what ClickHouse answers to a query that it refuses. Else that fails the
	// test.
	refused *strings.Builder

	mu     sync.Mutex
	output bytes.Buffer
}

// surfaces are what has an address.
var surfaces = []string{"api", "swap", "rpc", "stream", "metrics", "kafka", "clickhouse"}

func freePorts() []string {
	var flags []string
	for _, surface := range surfaces {
		flags = append(flags, "--"+surface+"-addr", "127.0.0.1:0")
	}
	return flags
}

// launch starts `mintlake up` on free ports and waits until it is up.
func launch(t testing.TB, dataDir string, args ...string) *instance {
	t.Helper()
	i := begin(t, dataDir, args...)
	i.awaitUp()
	return i
}

// awaitUp waits until the addresses are known.
func (i *instance) awaitUp() {
	i.t.Helper()
	select {
	case <-i.up:
	case <-i.exited:
		i.t.Fatalf("mintlake ended:\n%s", i.log())
	case <-time.After(hang):
		i.t.Fatalf("mintlake printed no addresses:\n%s", i.log())
	}
}

// begin starts `mintlake up` on free ports and returns at once.
func begin(t testing.TB, dataDir string, args ...string) *instance {
	t.Helper()
	return beginCommand(t, "up", dataDir, args...)
}

// beginCommand starts one of the commands that serve, on free ports, and returns at once.
func beginCommand(t testing.TB, command, dataDir string, args ...string) *instance {
	t.Helper()
	return beginWith(t, nil, command, dataDir, args...)
}

// beginWith is beginCommand with variables of the environment.
func beginWith(t testing.TB, env []string, command, dataDir string, args ...string) *instance {
	t.Helper()
	all := append([]string{command, "--data-dir", dataDir}, freePorts()...)
	cmd := exec.Command(binary, append(all, args...)...)
	cmd.Env = slices.Concat(os.Environ(), testSettings, env)
	return watch(t, command, cmd)
}

// testSettings are of every process here: tests reach nothing outside, and a machine that is slow
// with a stop fails none.
var testSettings = []string{"MINTLAKE_ENRICH_OFFCHAIN=false", "MINTLAKE_VOLUME_INTERVAL=1s", "MINTLAKE_STOP_TIMEOUT=" + hang.String()}

// watch starts what ends in a command that serves.
func watch(t testing.TB, name string, cmd *exec.Cmd) *instance {
	t.Helper()
	i := &instance{t: t, cmd: cmd, up: make(chan struct{}), exited: make(chan struct{}), addresses: map[string]string{}}
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := i.cmd.StdoutPipe()
	require.NoError(t, err)
	i.cmd.Stderr = i
	require.NoError(t, i.cmd.Start())
	go func() {
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			fmt.Fprintln(i, scanner.Text())
			if line, ok := strings.CutPrefix(scanner.Text(), "addresses "); ok {
				for _, pair := range strings.Fields(line) {
					name, address, _ := strings.Cut(pair, "=")
					i.addresses[name] = address
				}
				close(i.up)
			}
		}
		_ = i.cmd.Wait()
		close(i.exited)
	}()
	t.Cleanup(func() {
		// One that ends by itself says why in the end.
		if t.Failed() && strings.Contains(i.log(), "msg=stopping") {
			select {
			case <-i.exited:
			case <-time.After(20 * time.Second):
			}
		}
		i.kill()
		if t.Failed() {
			t.Logf("output of mintlake %s:\n%s", name, i.log())
		}
	})
	return i
}

// Write collects the process's output.
func (i *instance) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.output.Write(p)
}

func (i *instance) log() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.output.String()
}

// kill is kill -9 of the process and its children.
func (i *instance) kill() {
	_ = syscall.Kill(-i.cmd.Process.Pid, syscall.SIGKILL)
	<-i.exited
}

// stop tells the process to end, and returns the exit code.
func (i *instance) stop() int {
	i.t.Helper()
	require.NoError(i.t, i.cmd.Process.Signal(os.Interrupt))
	return i.end()
}

// ctrlC is what a terminal does: whatever the command started is told too.
func (i *instance) ctrlC() int {
	i.t.Helper()
	require.NoError(i.t, syscall.Kill(-i.cmd.Process.Pid, syscall.SIGINT))
	return i.end()
}

// end waits for the exit code.
func (i *instance) end() int {
	i.t.Helper()
	select {
	case <-i.exited:
	case <-time.After(hang):
		i.t.Fatalf("mintlake did not stop:\n%s", i.log())
	}
	return i.cmd.ProcessState.ExitCode()
}

func (i *instance) get(path string) (int, []byte) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.addresses["api"]+path, nil)
	require.NoError(i.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(i.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(i.t, err)
	return response.StatusCode, body
}

// gap is a range of slots that are missing, both included.
type gap struct {
	From uint64 `json:"from_slot"`
	To   uint64 `json:"to_slot"`
}

// status is what the tests read of GET /status.
type status struct {
	Source struct {
		Kind         string `json:"kind"`
		Done         bool   `json:"done"`
		Slot         uint64 `json:"slot"`
		FailedInputs int    `json:"failed_inputs"`
	} `json:"source"`
	Pipeline struct {
		LagRecords *int64 `json:"lag_records"`
	} `json:"pipeline"`
	Registry struct {
		Tokens int `json:"tokens"`
	} `json:"registry"`
	Root struct {
		Slot uint64  `json:"slot"`
		Hash *string `json:"hash"`
	} `json:"root"`
	Coverage struct {
		Gaps []gap `json:"gaps"`
	} `json:"coverage"`
	Freshness struct {
		P50   *float64 `json:"p50_ms"`
		P99   *float64 `json:"p99_ms"`
		Count int      `json:"count"`
	} `json:"freshness"`
}

func (i *instance) status() status {
	i.t.Helper()
	code, body := i.get("/status")
	require.Equal(i.t, http.StatusOK, code, string(body))
	var s status
	require.NoError(i.t, json.Unmarshal(body, &s), string(body))
	return s
}

// awaitDone waits until everything the source has is visible. A slow machine has all the time that
// it makes use of: what hangs is what stays as it is.
func (i *instance) awaitDone() status {
	i.t.Helper()
	var slot uint64
	var lag int64
	for deadline := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		s := i.status()
		if behind := s.Pipeline.LagRecords; behind != nil {
			if s.Source.Done && *behind == 0 {
				return s
			}
			if s.Source.Slot != slot || *behind != lag {
				slot, lag, deadline = s.Source.Slot, *behind, time.Now().Add(hang)
			}
		}
		if time.Now().After(deadline) {
			_, body := i.get("/status")
			i.t.Fatalf("nothing moved for %s: %s\n%s", hang, body, i.log())
		}
	}
}

// awaitRoot waits until the root covers all that a finite source had, and returns it.
func (i *instance) awaitRoot() string {
	i.t.Helper()
	deadline := time.Now().Add(hang)
	for {
		s := i.status()
		if s.Root.Hash != nil && s.Root.Slot >= s.Source.Slot {
			return *s.Root.Hash
		}
		require.True(i.t, time.Now().Before(deadline), "no root: %+v", s)
		time.Sleep(100 * time.Millisecond)
	}
}

// query asks ClickHouse over its HTTP interface and returns the rows as tab-separated lines.
func (i *instance) query(sql string) []string {
	i.t.Helper()
	response, err := http.Post(i.addresses["clickhouse"], "text/plain", strings.NewReader(sql))
	require.NoError(i.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(i.t, err)
	if i.refused != nil && response.StatusCode != http.StatusOK {
		i.refused.WriteString(strings.ReplaceAll(string(body), "\n", " ") + "\n")
		return nil
	}
	require.Equal(i.t, http.StatusOK, response.StatusCode, string(body))
	text := strings.TrimSuffix(string(body), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// sharedSources are the flags for all recorded mainnet data.
func sharedSources(t testing.TB) []string {
	t.Helper()
	return []string{
		"--source", "file:" + testkit.Shared(t, "data/blocks"),
		"--source", "file:" + testkit.Shared(t, "data/transactions"),
	}
}
