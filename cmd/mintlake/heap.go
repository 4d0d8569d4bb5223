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
	// heapFloor is what a heap may grow to before it is collected, in bytes. Ingest makes hundreds
	// of megabytes of garbage a second and keeps few: collected whenever they have doubled, as Go
	// does, it spends a fifth of its time collecting.
	heapFloor = 256 << 20
	// usualGrowth is by how many per cent a heap that needs more may grow: as Go has it.
	usualGrowth = 100
	// apiGrowth is that of a process with the token API. The search index is hundreds of megabytes
	// that live for ever and are soon looked through, as there is hardly a pointer in them: so
	// collecting some six times as often costs little, and waiting would double what the node
	// takes.
	apiGrowth = 15
	// smallestHeap is about what Go takes for the least that lives.
	smallestHeap = 4 << 20
)

// heap is this process's.
var heap heapTuner

// heapTuner sets, after each garbage collection, the heap size at which the next one begins. It
// does nothing if GOGC is set in the environment.
type heapTuner struct {
	growth atomic.Int64 // per cent
	set    int64        // per cent that was set last; only touched by one adjustment at a time
}

// start begins to tune. growBy may be called before and after.
func (t *heapTuner) start() {
	if os.Getenv("GOGC") != "" {
		return
	}
	t.growth.CompareAndSwap(0, usualGrowth)
	t.adjust()
	t.afterCollection()
}

// growBy says by how many per cent the heap may grow when it is larger than heapFloor anyway. It
// holds from the next collection on.
func (t *heapTuner) growBy(percent int64) { t.growth.Store(percent) }

// afterCollection calls adjust after each collection: the finalizer of an unreachable object runs
// then.
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
	// Setting it stops the world for a moment: not for little.
	if math.Abs(float64(percent-t.set)) > 0.1*float64(t.set) {
		t.set = percent
		debug.SetGCPercent(int(percent))
	}
}

// growthOf is by how many per cent a heap with so many live bytes may grow: to heapFloor, or by
// least.
func growthOf(live uint64, least int64) int64 {
	room := heapFloor - int64(min(live, heapFloor))
	return max(least, 100*room/int64(max(live, smallestHeap)))
}
