package packed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Shared holds the values that many states have in common once: authorities, names of extensions,
// the shapes of states. A value that comes twice within a short time gets a number; states that are
// packed later hold the number instead of the value. Shared only grows, up to a bound. It is safe
// for use by several goroutines.
type Shared struct {
	strings, keys, shapes *interner
}

// NewShared returns an empty Shared. A state can be read only with the Shared it was packed with.
func NewShared() *Shared {
	return &Shared{strings: newInterner(), keys: newInterner(), shapes: newInterner()}
}

const (
	// maxInterned bounds each part of it: 2^18 keys are some 25 MB.
	maxInterned = 1 << 18
	internChunk = 1 << 10
	// candidates is how many strings are remembered as seen once.
	candidates = 1 << 16
)

// interner numbers strings. Reading a number's string takes no lock.
type interner struct {
	mu      sync.RWMutex
	numbers map[string]uint32

	chunks [maxInterned / internChunk]atomic.Pointer[[internChunk]interned]

	seed maphash.Seed
	// seen are hashes of strings that came once, each in its own place or in none.
	seen [candidates]atomic.Uint32
}

// interned is what a number stands for: the bytes as packed and, of a key, their text.
type interned struct{ bytes, text string }

func newInterner() *interner {
	return &interner{numbers: map[string]uint32{}, seed: maphash.MakeSeed()}
}

// number returns the number of a string, false for one that has none (yet).
func (in *interner) number(value []byte, text func() string) (uint32, bool) {
	in.mu.RLock()
	n, ok := in.numbers[string(value)]
	full := len(in.numbers) >= maxInterned
	in.mu.RUnlock()
	if ok || full {
		return n, ok
	}
	hash := maphash.Bytes(in.seed, value)
	place, mark := &in.seen[hash%candidates], uint32(hash>>32)|1
	if place.Load() != mark {
		place.Store(mark)
		return 0, false
	}
	return in.add(value, text)
}

func (in *interner) add(value []byte, text func() string) (uint32, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n, ok := in.numbers[string(value)]; ok || len(in.numbers) >= maxInterned {
		return n, ok
	}
	n := uint32(len(in.numbers))
	entry := interned{bytes: string(value)}
	entry.text = entry.bytes
	if text != nil {
		entry.text = text()
	}
	chunk := &in.chunks[n/internChunk]
	if chunk.Load() == nil {
		chunk.Store(new([internChunk]interned))
	}
	chunk.Load()[n%internChunk] = entry
	in.numbers[entry.bytes] = n
	return n, true
}

// of is the string of a number that number returned.
func (in *interner) of(n uint64) *interned {
	return &in.chunks[n/internChunk].Load()[n%internChunk]
}
