package memory

import (
	"hash/maphash"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	chunkBits = 15
	// MaxKeys is how many keys a Table can hold: a hundred times as many mints as there are.
	MaxKeys   = 1 << (chunkBits + 13)
	firstSize = 1 << 12               // cells of the first index
	chunkSize = (32 + 8) << chunkBits // bytes
)

// Table holds a value for each of many keys. A key gets a number when it comes first, dense from 0
// on, which it keeps for ever.
//
// Any number of goroutines may call Find, Key, Read, IsMarked, Version, Marked, Numbers and Len at
// any time. The other methods are for one goroutine at a time, the writer. A call that begins after
// a method of the writer has returned sees what that did.
type Table struct {
	seed   maphash.Seed
	chunks [MaxKeys >> chunkBits]atomic.Pointer[chunk]
	count  atomic.Uint32
	index  atomic.Pointer[index]
	slabs  slabs
	marked atomic.Int64
}

type chunk [1 << chunkBits]entry

// entry is a key and where its value lies.
type entry struct {
	key   pubkey.Key
	place atomic.Uint64
}

// index is a hash table with linear probing: cells hold the number of a key plus 1, or 0 for none.
// At least a third of them is free.
type index struct {
	cells []atomic.Uint32
	used  int
}

// New returns an empty table.
func New() *Table {
	t := &Table{seed: maphash.MakeSeed()}
	t.slabs.regions = &regions{mapped: map[*byte][]byte{}}
	runtime.AddCleanup(t, (*regions).giveAll, t.slabs.regions)
	t.index.Store(newIndex(firstSize))
	return t
}

// newIndex returns an index of size cells. Its memory is released when the last reader has left it.
func newIndex(size int) *index {
	mapped := region(4 * size)
	s := &index{cells: view[atomic.Uint32](mapped)}
	runtime.AddCleanup(s, release, mapped)
	return s
}

// Len returns how many keys there are. Their numbers are 0 to Len()-1.
func (t *Table) Len() int { return int(t.count.Load()) }

// Marked is how many keys have a marked value.
func (t *Table) Marked() int { return int(t.marked.Load()) }

// Size is how many bytes outside the heap the table takes.
func (t *Table) Size() int {
	return t.slabs.regions.size + 4*len(t.index.Load().cells)
}

func (t *Table) entry(number uint32) *entry {
	if number >= t.count.Load() {
		return nil
	}
	return &t.chunks[number>>chunkBits].Load()[number&(1<<chunkBits-1)]
}

// Find returns the number of a key.
func (t *Table) Find(key *pubkey.Key) (uint32, bool) {
	index := t.index.Load()
	number, _, ok := t.look(index, key)
	runtime.KeepAlive(index)
	return number, ok
}

// look returns the key's number, or the cell where it belongs.
func (t *Table) look(index *index, key *pubkey.Key) (number uint32, cell int, ok bool) {
	mask := len(index.cells) - 1
	for cell = int(maphash.Bytes(t.seed, key[:])) & mask; ; cell = (cell + 1) & mask {
		n := index.cells[cell].Load()
		if n == 0 {
			return 0, cell, false
		}
		if t.chunks[(n-1)>>chunkBits].Load()[(n-1)&(1<<chunkBits-1)].key == *key {
			return n - 1, cell, true
		}
	}
}

// Key is the key of a number; false for a number that none has.
func (t *Table) Key(number uint32) (pubkey.Key, bool) {
	if e := t.entry(number); e != nil {
		return e.key, true
	}
	return pubkey.Key{}, false
}

// Add returns the number of a key, a new one if it has none.
func (t *Table) Add(key *pubkey.Key) uint32 {
	index := t.index.Load()
	if 3*(index.used+1) > 2*len(index.cells) {
		index = t.grow(index)
	}
	number, cell, ok := t.look(index, key)
	if ok {
		return number
	}
	number = t.count.Load()
	at := &t.chunks[number>>chunkBits]
	if at.Load() == nil {
		mapped := t.slabs.regions.take(chunkSize)
		at.Store((*chunk)(view[entry](mapped)))
	}
	at.Load()[number&(1<<chunkBits-1)].key = *key
	t.count.Store(number + 1)
	index.cells[cell].Store(number + 1)
	index.used++
	return number
}

// grow makes an index with twice the cells.
func (t *Table) grow(old *index) *index {
	grown := newIndex(2 * len(old.cells))
	for i := range old.cells {
		if n := old.cells[i].Load(); n != 0 {
			key, _ := t.Key(n - 1)
			_, cell, _ := t.look(grown, &key)
			grown.cells[cell].Store(n)
		}
	}
	grown.used = old.used
	t.index.Store(grown)
	runtime.KeepAlive(old)
	return grown
}

// Put replaces the value of a number, and its mark: a bit that readers can see without reading the
// value.
func (t *Table) Put(number uint32, value []byte, marked bool) {
	e := t.entry(number)
	old := place(e.place.Load())
	e.place.Store(uint64(t.slabs.put(number, value, marked)))
	t.slabs.drop(old)
	if marked != old.marked() {
		if marked {
			t.marked.Add(1)
		} else {
			t.marked.Add(-1)
		}
	}
	t.slabs.clean(t.move)
}

// move gives a value another place if at, which has no mark, is where it lies.
func (t *Table) move(number uint32, at place, value []byte) {
	e := t.entry(number)
	if now := place(e.place.Load()); now&^1 == at {
		e.place.Store(uint64(t.slabs.put(number, value, now.marked())))
	}
}

// Read calls use with the value of a number and its mark; it returns false if there is none. The
// value is valid until use returns.
func (t *Table) Read(number uint32, use func(value []byte, marked bool)) bool {
	e := t.entry(number)
	if e == nil {
		return false
	}
	for {
		at := place(e.place.Load())
		if at == 0 {
			return false
		}
		if slab, value, ok := t.slabs.pin(at); ok {
			use(value, at.marked())
			slab.unpin()
			runtime.KeepAlive(t)
			return true
		}
	}
}

// IsMarked returns whether the value of a number is marked.
func (t *Table) IsMarked(number uint32) bool {
	e := t.entry(number)
	return e != nil && place(e.place.Load()).marked()
}

// Version differs between any two values that a number has had: it changes with every Put, and may
// change without one. It is 0 if there is no value.
func (t *Table) Version(number uint32) uint64 {
	if e := t.entry(number); e != nil {
		return e.place.Load()
	}
	return 0
}

// Numbers iterates over the numbers of all keys that there were when it was called.
func (t *Table) Numbers() iter.Seq[uint32] {
	end := t.count.Load()
	return func(yield func(uint32) bool) {
		for number := range end {
			if !yield(number) {
				return
			}
		}
	}
}
