package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietFor is how long a process must be quiet until it gives memory back, quietBytes how much
	// it may allocate in that time.
	quietFor   = 10 * time.Second
	quietBytes = 16 << 20
	// worthGiving is how much the heap must have grown since the last time, in bytes.
	worthGiving = 64 << 20
)

// giver gives the memory back that a process took while it was busy: Go would keep it, because its
// goal for the heap is still that of the busy time.
type giver struct {
	allocated uint64 // up to the last look
	kept      uint64 // the smallest heap since memory was given back, garbage included
}

// run looks every quietFor, for ever.
func (g *giver) run() {
	for range time.Tick(quietFor) {
		g.look()
	}
}

// look gives memory back if the process was quiet since the last look, and the heap has grown. It
// returns whether it did.
func (g *giver) look() bool {
	allocated, heap := heapBytes()
	quiet := allocated-g.allocated < quietBytes
	g.allocated, g.kept = allocated, min(g.kept, heap)
	if !quiet || heap < g.kept+worthGiving {
		return false
	}
	debug.FreeOSMemory()
	g.allocated, g.kept = heapBytes()
	return true
}

// heapBytes returns how much the process has allocated so far, and how much its heap has.
func heapBytes() (allocated, heap uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
