package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// heapRoom is by how many bytes a heap may always grow before it is collected. Ingest makes
	// hundreds of megabytes of garbage per second and keeps little of it. With Go's default, which
	// collects when the heap has doubled, ingest spends a fifth of its time on collections.
	heapRoom = 160 << 20
	// usualGrowth is Go's default: the heap may grow by so many percent if that is more than
	// heapRoom.
	usualGrowth = 100
	// apiGrowth replaces usualGrowth in a process with the token API. Its tokens and their index
	// take hundreds of megabytes that live for ever. They have few pointers, so scanning is fast.
	// Six times as many collections cost little, and the default would double the node's memory.
	apiGrowth = 15
	// smallestHeap is about the smallest heap at which Go collects.
	smallestHeap = 4 << 20
)

// heap is the tuner of this process.
var heap heapTuner

// heapTuner sets, after each garbage collection, the heap size at which the next one begins. It
// does nothing if GOGC is set in the environment.
type heapTuner struct {
	growth atomic.Int64 // per cent
	set    int64        // per cent that was set last; only touched by one adjustment at a time
}

// start starts the tuner. growBy may be called before and after it.
func (t *heapTuner) start() {
	if os.Getenv("GOGC") != "" {
		return
	}
	t.growth.CompareAndSwap(0, usualGrowth)
	t.adjust()
	t.afterCollection()
}

// growBy sets by how many percent the heap may grow if that is more than heapRoom. It takes effect
// at the next collection.
func (t *heapTuner) growBy(percent int64) { t.growth.Store(percent) }

// afterCollection has adjust called after each collection, by the finalizer of an unreachable
// object.
func (t *heapTuner) afterCollection() {
	type sentinel struct{ _ [16]byte } // of a size that is not shared with other objects
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		t.adjust()
		t.afterCollection()
	})
}

func (t *heapTuner) adjust() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	percent := growthOf(sample[0].Value.Uint64(), t.growth.Load())
	// SetGCPercent stops the world for a moment, so small changes are skipped.
	if math.Abs(float64(percent-t.set)) > 0.1*float64(t.set) {
		t.set = percent
		debug.SetGCPercent(int(percent))
	}
}

// growthOf returns by how many percent a heap may grow if live bytes of it are in use: by heapRoom,
// or by least percent if that is more.
func growthOf(live uint64, least int64) int64 {
	return max(least, 100*heapRoom/int64(max(live, smallestHeap)))
}
