package packed

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Shared holds values that many states have in common, so that each is in memory once: authorities,
// names of extensions, the shapes of states. A value that comes twice within a short time gets a
// number; states that are packed later hold the number instead of the value. Shared only grows, up
// to a bound. It is safe for use by several goroutines.
type Shared struct {
	strings, keys, shapes *interner
}

// NewShared returns an empty Shared. A state can be read only with the Shared it was packed with.
func NewShared() *Shared {
	return &Shared{strings: newInterner(), keys: newInterner(), shapes: newInterner()}
}

const (
	// maxInterned bounds each interner: 2^18 keys are some 25 MB.
	maxInterned = 1 << 18
	internChunk = 1 << 10
	// maxSeen is how many strings are remembered as seen once.
	maxSeen = 1 << 16
)

// interner numbers strings. Reading a number's string takes no lock.
type interner struct {
	mu      sync.RWMutex
	numbers map[string]uint32

	chunks [maxInterned / internChunk]atomic.Pointer[[internChunk]interned]

	seed maphash.Seed
	// seen are hashes of strings that came once. Of strings that share a cell, the last one counts.
	seen [maxSeen]atomic.Uint32
}

// interned is what a number stands for: the bytes as packed, and the text. Only for a key do the
// two differ: the text is in base58.
type interned struct{ bytes, text string }

func newInterner() *interner {
	return &interner{numbers: map[string]uint32{}, seed: maphash.MakeSeed()}
}

// number returns the number of a string. A string gets one when it comes again while seen has it;
// until then the result is false. text returns the text of a key's bytes; nil if value is a text.
func (in *interner) number(value []byte, text func() string) (uint32, bool) {
	in.mu.RLock()
	n, ok := in.numbers[string(value)]
	full := len(in.numbers) >= maxInterned
	in.mu.RUnlock()
	if ok || full {
		return n, ok
	}
	hash := maphash.Bytes(in.seed, value)
	cell, mark := &in.seen[hash%maxSeen], uint32(hash>>32)|1 // an empty cell is 0
	if cell.Load() != mark {
		cell.Store(mark)
		return 0, false
	}
	return in.add(value, text)
}

// add gives a string a number, if there is room.
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

// of returns the string of a number that the method number or add has returned.
func (in *interner) of(n uint64) *interned {
	return &in.chunks[n/internChunk].Load()[n%internChunk]
}
