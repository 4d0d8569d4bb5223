package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGrowthOfTheHeap(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int64{0: 6400, 64 * mib: 300, 128 * mib: 100, 200 * mib: 28, 220 * mib: 16, 256 * mib: apiGrowth, 4096 * mib: apiGrowth} {
		require.Equal(t, want, growthOf(live, apiGrowth), "%d MiB live", live/mib)
	}
	require.EqualValues(t, usualGrowth, growthOf(200*mib, usualGrowth))
}

// TestTheHeapIsTended: after a collection the next one begins where the live heap asks for.
func TestTheHeapIsTended(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	var tuned heapTuner
	tuned.growBy(apiGrowth)
	tuned.start()
	kept := make([]byte, heapFloor+1<<20)
	require.Eventually(t, func() bool {
		runtime.GC()
		percent := debug.SetGCPercent(100) // the only way to read it
		debug.SetGCPercent(percent)
		return percent == apiGrowth
	}, time.Minute, 10*time.Millisecond)
	runtime.KeepAlive(kept)
}
