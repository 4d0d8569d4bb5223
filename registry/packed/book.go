package packed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Book holds what many states have in common, once: authorities, names of extensions, the shapes of states. What comes a second time soon
// after the first is written into it and has a number from then on. It only grows, up to a bound; states packed before know nothing of
// what came later. Any number of goroutines may write and read.
type Book struct {
	strings, keys, shapes *interner
}

// NewBook returns an empty book. States packed with one book can be read with that one only.
func NewBook() *Book {
	return &Book{strings: newInterner(), keys: newInterner(), shapes: newInterner()}
}

const (
	// maxInterned bounds each part of a book: 2^18 keys are some 25 MB.
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
