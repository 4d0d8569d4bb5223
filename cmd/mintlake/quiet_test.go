package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAQuietProcessGivesMemoryBack, and a busy one does not.
func TestAQuietProcessGivesMemoryBack(t *testing.T) {
	var g memoryReleaser
	g.look()
	g.look()
	garbage := make([][]byte, 100)
	for i := range garbage {
		garbage[i] = make([]byte, 1<<20)
		for k := range garbage[i] {
			garbage[i][k] = 1
		}
	}
	runtime.KeepAlive(garbage)
	full := resident(t)
	require.False(t, g.look(), "it was busy")
	require.True(t, g.look(), "it was quiet")
	require.Less(t, resident(t), full-80<<20)
	require.False(t, g.look(), "there is nothing more to give")
}

// resident returns the resident memory of this process, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(raw))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}
