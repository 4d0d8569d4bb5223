package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietFor is how long a process must be quiet before it gives memory back. quietBytes is how
	// much it may allocate in that time and still be quiet.
	quietFor   = 10 * time.Second
	quietBytes = 16 << 20
	// worthGiving is by how many bytes the heap must have grown since memory was last given back.
	worthGiving = 64 << 20
)

// memoryReleaser gives memory back to the operating system that the process took while it was busy.
// Go would keep it, because its goal for the heap is still that of the busy time.
type memoryReleaser struct {
	allocated uint64 // bytes allocated up to the last look
	kept      uint64 // the smallest heap since memory was given back, garbage included
}

// run looks every quietFor, for ever.
func (r *memoryReleaser) run() {
	for range time.Tick(quietFor) {
		r.look()
	}
}

// look gives memory back if the process was quiet since the last look and the heap has grown by
// worthGiving. It reports whether it did.
func (r *memoryReleaser) look() bool {
	allocated, heap := heapBytes()
	quiet := allocated-r.allocated < quietBytes
	r.allocated, r.kept = allocated, min(r.kept, heap)
	if !quiet || heap < r.kept+worthGiving {
		return false
	}
	debug.FreeOSMemory()
	r.allocated, r.kept = heapBytes()
	return true
}

// heapBytes returns how many bytes the process has allocated so far, and how many its heap has now.
func heapBytes() (allocated, heap uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
