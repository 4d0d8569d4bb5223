package chengine_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

// TestShutdownStaysInTheEngine: SYSTEM SHUTDOWN in the engine is a signal to its whole process
// group. It must not reach us, and what gets past the refusal costs a restart.
func TestShutdownStaysInTheEngine(t *testing.T) {
	r := start(t, chengine.Config{})
	group, err := syscall.Getpgid(r.PID())
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group, "the engine's process has a process group of its own")
	require.Equal(t, r.PID(), group)
	for _, query := range []string{"SYSTEM SHUTDOWN", "system/* */ kill", "SYSTEM SUSPEND FOR 1 SECOND", "-- x\nSYSTEM // y\nSHUTDOWN"} {
		require.Equal(t, 497, codeOf(curl(t, r.Addr(), "", query)), query)
	}
	// what the two statements send
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		before := r.PID()
		require.NoError(t, syscall.Kill(-before, signal))
		require.Eventually(t, func() bool { pid := r.PID(); return pid != 0 && pid != before }, 2*time.Minute, 5*time.Millisecond)
		require.Equal(t, "1\n", curl(t, r.Addr(), "SELECT 1", "").body)
	}
	require.NoError(t, r.stop())
}

// TestEnvironmentIsMinimal: SQL can read the environment of the engine's process.
func TestEnvironmentIsMinimal(t *testing.T) {
	t.Setenv("MINTLAKE_GEYSER_TOKEN", "very-secret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
	t.Setenv("HTTPS_PROXY", "http://user:very-secret@proxy")
	t.Setenv("TMPDIR", "/tmp")
	r := start(t, chengine.Config{})
	environ := curl(t, r.Addr(), "SELECT * FROM file('/proc/self/environ', RawBLOB) FORMAT RawBLOB", "").body
	require.NotContains(t, environ, "very-secret")
	direct, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.PID()))
	require.NoError(t, err)
	require.NotContains(t, string(direct), "very-secret")
	require.Contains(t, string(direct), "TMPDIR=/tmp")
}
