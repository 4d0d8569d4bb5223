//go:build drill

package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// readyz is the answer of the metrics address.
func (i *instance) readyz() (status int, text string) {
	i.t.Helper()
	response, err := http.Get(strings.TrimSuffix(i.addresses["metrics"], "/metrics") + "/readyz")
	require.NoError(i.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(i.t, err)
	return response.StatusCode, string(body)
}

// fillUp writes a file until the file system is full.
func fillUp(t *testing.T, name string) {
	t.Helper()
	file, err := os.Create(name)
	require.NoError(t, err)
	defer file.Close()
	for chunk := make([]byte, 1<<20); err == nil; {
		_, err = file.Write(chunk)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
}

// TestDrillDiskFull fills the disk under a running node, twice, and makes room again. The node says
// so on /readyz and in the log, goes on serving, and goes on by itself with the same log and tables
// that agree with it.
func TestDrillDiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=600m"); err != nil {
		t.Fatalf("this drill mounts a small file system, which takes root (sudo make drill-disk-full): %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	dir, ballast := filepath.Join(disk, "data"), filepath.Join(disk, "ballast")
	up := launch(t, dir, "--source", "demo:?past=0&tps=50&tokens=200&seed=5", "--rate-limits-enabled=false")
	up.awaitMore(50)

	for range 2 {
		fillUp(t, ballast)
		require.Eventually(t, func() bool {
			status, text := up.readyz()
			return status == http.StatusServiceUnavailable && strings.Contains(text, "disk: full: ")
		}, hang, 200*time.Millisecond)
		time.Sleep(15 * time.Second) // what fails is tried again meanwhile
		status, _ := up.get("/tokens?limit=1")
		require.Equal(t, http.StatusOK, status, "what is known is served")
		require.Less(t, strings.Count(up.log(), "embedded kafka warns"), 12, "a full disk does not flood the log")

		tokens := up.status().Registry.Tokens
		require.NoError(t, os.Remove(ballast))
		up.awaitMore(tokens + 5)
		require.Eventually(t, func() bool {
			status, _ := up.readyz()
			return status == http.StatusOK
		}, hang, 200*time.Millisecond)
	}
	require.Contains(t, up.log(), "the disk is full")
	require.Contains(t, up.log(), "the disk has room again")
	up.awaitValued()
	require.Empty(t, up.status().Coverage.Gaps)
	require.Zero(t, up.stop(), up.log())

	out, code := command(t, "verify", "--data-dir", dir)
	require.Zero(t, code, out)
}
