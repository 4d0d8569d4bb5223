package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fails runs `mintlake up`, which must end with one line on stderr, and returns that line.
func fails(t *testing.T, dataDir string, env []string, args ...string) string {
	t.Helper()
	all := append(freePorts(), "--data-dir", dataDir, "--log-level", "error")
	cmd := exec.Command(binary, append(append([]string{"up"}, all...), args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	line := strings.TrimSuffix(stderr.String(), "\n")
	require.NotContains(t, line, "\n", "one line")
	return line
}

func TestErrorsSayWhatWhereAndWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, surface := range surfaces {
		line := fails(t, t.TempDir(), nil, "--"+surface+"-addr", taken.Addr().String())
		require.Contains(t, line, taken.Addr().String())
		require.Contains(t, line, "--"+surface+"-addr", "says what to change")
	}

	few := exec.Command("sh", "-c", `ulimit -n 200; exec "$0" up --source none --data-dir "$1"`, binary, t.TempDir())
	out, err := few.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "at most 200 files may be open, and 1024 are needed: raise the limit")

	line := fails(t, t.TempDir(), []string{"MINTLAKE_LIBCHDB=/nowhere/libchdb.so"})
	require.Contains(t, line, "/nowhere/libchdb.so")
	require.Contains(t, line, "make deps")

	for _, engine := range []string{"kafka", "clickhouse"} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, engine), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, engine, "letters.txt"), []byte("mine"), 0o600))
		require.Contains(t, fails(t, dir, nil), "letters.txt", "a folder of somebody else is left alone")
	}

	theirs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(theirs, "passwd"), nil, 0o600))
	require.Contains(t, fails(t, theirs, nil), `it holds "passwd"; choose an empty or new folder with --data-dir`)
	left, err := os.ReadDir(theirs)
	require.NoError(t, err)
	require.Len(t, left, 1, "and nothing is made there")

	dir := t.TempDir()
	up := launch(t, dir, "--source", "none")
	require.Contains(t, fails(t, dir, nil), "in use")
	require.Zero(t, up.stop())
}
