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
	firstSize = 1 << 12 // slots
	chunkSize = (32 + 8) << chunkBits
)

// Table holds a value for each of many keys. A key gets a number when it comes first, dense from 0
// on, which it keeps for ever.
//
// All but Find, Key, Read, IsMarked, Version, Marked, Numbers and Len is for one goroutine at a
// time, the writer; these are for any number at any time. What the writer has done before it
// returns is seen by whoever looks afterwards.
type Table struct {
	seed   maphash.Seed
	chunks [MaxKeys >> chunkBits]atomic.Pointer[chunk]
	count  atomic.Uint32
	slots  atomic.Pointer[slots]
	slabs  slabs
	marked atomic.Int64
}

type chunk [1 << chunkBits]entry

// entry is a key and where its value lies.
type entry struct {
	key   pubkey.Key
	place atomic.Uint64
}

// slots are numbers by the hashes of their keys, plus 1; 0 is free. One way of three is free at
// least.
type slots struct {
	list []atomic.Uint32
	used int
}

// New returns an empty table.
func New() *Table {
	t := &Table{seed: maphash.MakeSeed()}
	t.slabs.regions = &regions{mapped: map[*byte][]byte{}}
	runtime.AddCleanup(t, (*regions).giveAll, t.slabs.regions)
	t.slots.Store(newSlots(firstSize))
	return t
}

// newSlots are given back when the last reader has left them.
func newSlots(size int) *slots {
	mapped := region(4 * size)
	s := &slots{list: view[atomic.Uint32](mapped)}
	runtime.AddCleanup(s, release, mapped)
	return s
}

// Len is how many keys there are: their numbers are below.
func (t *Table) Len() int { return int(t.count.Load()) }

// Marked is how many keys have a marked value.
func (t *Table) Marked() int { return int(t.marked.Load()) }

// Size is how many bytes outside the heap the table takes.
func (t *Table) Size() int {
	return t.slabs.regions.size + 4*len(t.slots.Load().list)
}

func (t *Table) entry(number uint32) *entry {
	if number >= t.count.Load() {
		return nil
	}
	return &t.chunks[number>>chunkBits].Load()[number&(1<<chunkBits-1)]
}

// Find is the number of a key.
func (t *Table) Find(key *pubkey.Key) (uint32, bool) {
	slots := t.slots.Load()
	number, _, ok := t.look(slots, key)
	runtime.KeepAlive(slots)
	return number, ok
}

// look is the key's number, or the slot where it belongs.
func (t *Table) look(slots *slots, key *pubkey.Key) (number uint32, slot int, ok bool) {
	mask := len(slots.list) - 1
	for slot = int(maphash.Bytes(t.seed, key[:])) & mask; ; slot = (slot + 1) & mask {
		n := slots.list[slot].Load()
		if n == 0 {
			return 0, slot, false
		}
		if t.chunks[(n-1)>>chunkBits].Load()[(n-1)&(1<<chunkBits-1)].key == *key {
			return n - 1, slot, true
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
	slots := t.slots.Load()
	if 3*(slots.used+1) > 2*len(slots.list) {
		slots = t.grow(slots)
	}
	number, slot, ok := t.look(slots, key)
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
	slots.list[slot].Store(number + 1)
	slots.used++
	return number
}

// grow makes twice the slots.
func (t *Table) grow(old *slots) *slots {
	grown := newSlots(2 * len(old.list))
	for i := range old.list {
		if n := old.list[i].Load(); n != 0 {
			key, _ := t.Key(n - 1)
			_, slot, _ := t.look(grown, &key)
			grown.list[slot].Store(n)
		}
	}
	grown.used = old.used
	t.slots.Store(grown)
	runtime.KeepAlive(old)
	return grown
}

// Put replaces the value of a number, and its mark, which tells readers something without a look at
// the value.
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

// move gives a value another place if at is where it lies.
func (t *Table) move(number uint32, at place, value []byte) {
	e := t.entry(number)
	if now := place(e.place.Load()); now&^1 == at {
		e.place.Store(uint64(t.slabs.put(number, value, now.marked())))
	}
}

// Read calls use with the value of a number and its mark; false when it has none. The value is gone
// when use returns.
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

// IsMarked says whether the value of a number is marked.
func (t *Table) IsMarked(number uint32) bool {
	e := t.entry(number)
	return e != nil && place(e.place.Load()).marked()
}

// Version tells values of one number apart while the process lives: it changes with every Put, and
// may change without.
func (t *Table) Version(number uint32) uint64 {
	if e := t.entry(number); e != nil {
		return e.place.Load()
	}
	return 0
}

// Numbers are those of all keys that there were when the walk began.
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
