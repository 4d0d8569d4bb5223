package chengine_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

// runErr runs an engine that is expected to fail and returns its error.
func runErr(t *testing.T, cfg chengine.Config) error {
	t.Helper()
	r := launch(t, cfg)
	err := waitReady(t, r)
	require.Error(t, err)
	require.Equal(t, err, r.stop(), "WaitReady tells Run's error")
	return err
}

// requireOneLine holds an error to the promise: one line, with every one of these texts in it.
func requireOneLine(t *testing.T, err error, texts ...string) {
	t.Helper()
	require.NotContains(t, err.Error(), "\n")
	for _, text := range texts {
		require.Contains(t, err.Error(), text)
	}
}

func TestMissingLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libchdb.so")
	t.Setenv("MINTLAKE_LIBCHDB", path)
	err := runErr(t, chengine.Config{})
	require.ErrorIs(t, err, chengine.ErrLibraryMissing)
	requireOneLine(t, err, path, "make deps")
}

func TestLibraryThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libchdb.so")
	require.NoError(t, os.WriteFile(path, []byte("not a library"), 0o600))
	t.Setenv("MINTLAKE_LIBCHDB", path)
	err := runErr(t, chengine.Config{})
	var startErr *chengine.StartError
	require.ErrorAs(t, err, &startErr)
	require.Equal(t, 1, startErr.Attempts, "trying again cannot help")
	requireOneLine(t, err, path)

	t.Setenv("MINTLAKE_LIBCHDB", "/lib/x86_64-linux-gnu/libc.so.6")
	err = runErr(t, chengine.Config{})
	requireOneLine(t, err, "chdb_connect")
}

func TestLockedDirectory(t *testing.T) {
	first := start(t, chengine.Config{})
	err := runErr(t, chengine.Config{DataDir: first.dir})
	require.ErrorIs(t, err, chengine.ErrLocked)
	requireOneLine(t, err, first.dir, "by process", "--data-dir")
	require.Equal(t, "1\n", curl(t, first.Addr(), "SELECT 1", "").body, "the first goes on")
	require.NoError(t, first.stop())
	start(t, chengine.Config{DataDir: first.dir})
}

func TestForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600))
	err := runErr(t, chengine.Config{DataDir: dir})
	require.ErrorIs(t, err, chengine.ErrForeignDirectory)
	requireOneLine(t, err, dir, "thesis.txt")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing was written into it")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "mintlake-clickhouse.json"), []byte(`{"owner":"someone"}`), 0o600))
	err = runErr(t, chengine.Config{DataDir: dir})
	require.ErrorIs(t, err, chengine.ErrForeignDirectory)
	requireOneLine(t, err, "mintlake-clickhouse.json is damaged")
}

// TestAFolderOfSomebodyElseStaysForeign: a marker is made anew only where everything else is ours.
func TestAFolderOfSomebodyElseStaysForeign(t *testing.T) {
	for name, files := range map[string][]string{
		"an engine's folder alone": {"engine/metadata/x.sql"}, "a file of theirs": {"engine/x", "lock", "thesis.txt"}, "no engine": {"lock", "config.xml", "notes"},
		"the engine is a file": {"engine", "lock"},
	} {
		for _, marker := range []string{"", "{", `{"owner":"someone"}`, `{"owner":7}`} {
			dir := t.TempDir()
			for _, file := range files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o750))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
			}
			if marker != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "mintlake-clickhouse.json"), []byte(marker), 0o600))
			}
			err := runErr(t, chengine.Config{DataDir: dir})
			require.ErrorIs(t, err, chengine.ErrForeignDirectory, "%s, %s", name, marker)
			requireOneLine(t, err, dir, "--data-dir")
		}
	}
}

func TestDirectoryOfANewerVersion(t *testing.T) {
	for name, text := range map[string]string{
		"layout": `{"owner":"mintlake embedded clickhouse","layout":2}`,
		"engine": `{"owner":"mintlake embedded clickhouse","layout":1,"engine":"99.1.1.1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "mintlake-clickhouse.json"), []byte(text), 0o600))
			err := runErr(t, chengine.Config{DataDir: dir})
			require.ErrorIs(t, err, chengine.ErrNewerData)
			requireOneLine(t, err, dir, "mintlake-clickhouse.json", "damaged")
		})
	}
}

func TestFileSystemOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lost+found"), 0o700))
	start(t, chengine.Config{DataDir: dir})
}

func TestTakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	err = runErr(t, chengine.Config{Addr: listener.Addr().String()})
	require.ErrorIs(t, err, chengine.ErrPortTaken)
	requireOneLine(t, err, listener.Addr().String(), "--clickhouse-addr")
}

func TestConfigurationIsChecked(t *testing.T) {
	_, err := chengine.New(chengine.Config{Addr: "0.0.0.0:8123", MaxMemoryBytes: 1}.WithConnections(100), chengine.Deps{})
	for _, text := range []string{"directory", "not loopback", "too small", "connections"} {
		require.ErrorContains(t, err, text)
	}
	_, err = chengine.New(chengine.Config{DataDir: t.TempDir(), Addr: "8123"}, chengine.Deps{})
	require.ErrorContains(t, err, "host:port")
	_, err = chengine.New(chengine.Config{DataDir: t.TempDir()}, chengine.Deps{})
	require.NoError(t, err, "the defaults are valid")
}

// TestDamagedData: the engine refuses to open, and the copies are as damaged; Run must say so and
// end, not try for ever.
func TestDamagedData(t *testing.T) {
	dir := filled(t)
	for _, file := range []string{oneFile(t, dir, "engine/store/*/*/t.sql"), filepath.Join(dir, "definitions.json")} {
		change(t, file, func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("MergeTree"), []byte("NergeTree")) })
	}
	err := runErr(t, chengine.Config{DataDir: dir}.WithMaxFailedStarts(3))
	var startErr *chengine.StartError
	require.ErrorAs(t, err, &startErr)
	require.Equal(t, 3, startErr.Attempts)
	require.NotEmpty(t, startErr.Stderr)
	requireOneLine(t, err, dir, "docs/embedded-clickhouse.md")
}

// helperEnv makes the test binary run an engine as a program of its own would, so that a test can
// kill it.
const helperEnv = "MINTLAKE_TEST_HELPER_DIR"

func runHelperProcess() {
	dir := os.Getenv(helperEnv)
	if dir == "" {
		return
	}
	chengine.MaybeRunChild()
	e, err := chengine.New(chengine.Config{DataDir: dir, Addr: "127.0.0.1:0"}, chengine.Deps{})
	if err != nil {
		panic(err)
	}
	go func() {
		if e.WaitReady(context.Background()) == nil {
			fmt.Fprintf(os.Stderr, "%s %d\n", e.Addr(), e.PID())
		}
	}()
	if err := e.Run(context.Background()); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// TestKilledParent: the child must not outlive its parent, and the next start must not find the
// directory locked.
func TestKilledParent(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), helperEnv+"="+dir)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line := make([]byte, 100)
		n, err := stderr.Read(line)
		require.NoError(t, err)
		addr, pid, ok := strings.Cut(strings.TrimSpace(string(line[:n])), " ")
		require.True(t, ok, "%s", line[:n])
		require.Equal(t, "1\n", curl(t, addr, "SELECT 1", "").body)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		require.Eventually(t, func() bool {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			// gone, or waiting to be buried by init
			return os.IsNotExist(err) || strings.Contains(string(stat), ") Z ")
		}, time.Minute, 5*time.Millisecond, "the child lives on")
	}
	start(t, chengine.Config{DataDir: dir})
}
