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
	for live, want := range map[uint64]int64{0: 4000, 64 * mib: 250, 160 * mib: 100, 640 * mib: 25, 1280 * mib: apiGrowth, 4096 * mib: apiGrowth} {
		require.Equal(t, want, growthOf(live, apiGrowth), "%d MiB live", live/mib)
	}
	require.EqualValues(t, usualGrowth, growthOf(400*mib, usualGrowth))
}

// TestTheHeapIsTended: after a collection the next one begins where the live heap asks for.
func TestTheHeapIsTended(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	var tuned heapTuner
	const growth = 120 // above what heapRoom is to what is kept
	tuned.growBy(growth)
	tuned.start()
	kept := make([]byte, heapRoom)
	require.Eventually(t, func() bool {
		runtime.GC()
		percent := debug.SetGCPercent(100) // the only way to read it
		debug.SetGCPercent(percent)
		return percent == growth
	}, time.Minute, 10*time.Millisecond)
	runtime.KeepAlive(kept)
}
