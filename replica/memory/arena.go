package memory

import "runtime"

// Arena is memory outside the heap that is given back as a whole, when nobody holds the arena any
// more. It is for one goroutine at a time.
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

// Take returns so many zeroed bytes. Whoever uses them must hold the arena: the collector does not
// see that they are in use.
func (a *Arena) Take(size int) []byte {
	if size > len(a.rest) {
		a.rest = a.regions.take(max(size, slabSize))
	}
	taken := a.rest[:size:size]
	a.rest = a.rest[size:]
	return taken
}
