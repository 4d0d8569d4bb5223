package memory

import "runtime"

// Arena is memory outside the heap. All of it is released when the Arena itself is garbage. It is
// for one goroutine at a time.
type Arena struct {
	regions *regions
	rest    []byte
}

// NewArena returns an arena without memory.
func NewArena() *Arena {
	a := &Arena{regions: &regions{mapped: map[*byte][]byte{}}}
	runtime.AddCleanup(a, (*regions).giveAll, a.regions)
	return a
}

// Take returns size zeroed bytes. The garbage collector does not see who uses them: the user must
// keep the Arena reachable.
func (a *Arena) Take(size int) []byte {
	if size > len(a.rest) {
		a.rest = a.regions.take(max(size, slabSize))
	}
	taken := a.rest[:size:size]
	a.rest = a.rest[size:]
	return taken
}
