package liveroot

import (
	"encoding/binary"
	"iter"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// changes has a change for each mint that has changed, by the mint's number. Each fact of the fold
// looks up its mint, so the lookup is in pages, which is faster than in a map. There may be half a
// million (maxDirty); slabs and bytes have no pointers that the garbage collector would follow.
type changes struct {
	slabs []*[slabSize]change
	free  []uint32 // places in slabs
	count int
	// pages have each number's place in slabs plus 1; 0 for none. A page is made when the first of
	// its mints changes.
	pages [][]uint32
	bytes arena
	// list and packed are buffers of betweens and setBetweens.
	list   []between
	packed []byte
}

// change is what the tracker keeps of a mint that has changed since the root knew its state.
type change struct {
	number uint32
	mint   pubkey.Key
	// before is the packed state that the root knows, empty for an unknown mint.
	before span
	// between are states at some slots, ascending: all but the mint's state now. See betweens.
	between span
	// top is the highest bound of the facts so far, see Tracker.bound.
	top   uint64
	begun bool // the place is in use
	// sealed is true from when a slot is sealed until the tree is given the mint's state at that
	// slot. Until then before and between are those of an earlier slot.
	sealed bool
	// late: a fact came whose slot was sealed before, or a fact came before the first Seal. So the
	// state at the sealed slot may have changed.
	late bool
}

// between is a mint's packed state with all facts up to a slot.
type between struct {
	slot  uint64
	state []byte
}

const (
	pageBits = 12
	slabSize = 1 << 10
	// maxIdle is how many slabs are kept when no change is left.
	maxIdle = 32
)

// of returns the change of a mint, or nil.
func (cs *changes) of(number uint32) *change {
	if page := int(number >> pageBits); page < len(cs.pages) && cs.pages[page] != nil {
		if at := cs.pages[page][number&(1<<pageBits-1)]; at != 0 {
			return &cs.slabs[(at-1)/slabSize][(at-1)%slabSize]
		}
	}
	return nil
}

// all iterates over the changes, in no particular order.
func (cs *changes) all() iter.Seq[*change] {
	return func(yield func(*change) bool) {
		for _, slab := range cs.slabs {
			for i := range slab {
				if c := &slab[i]; c.begun && !yield(c) {
					return
				}
			}
		}
	}
}

// begin returns a new change of a mint that has none.
func (cs *changes) begin(number uint32, mint pubkey.Key, before []byte) *change {
	if len(cs.free) == 0 {
		cs.grow()
	}
	last := len(cs.free) - 1
	at := cs.free[last]
	cs.free = cs.free[:last]
	page := int(number >> pageBits)
	if missing := page + 1 - len(cs.pages); missing > 0 {
		cs.pages = append(cs.pages, make([][]uint32, missing)...)
	}
	if cs.pages[page] == nil {
		cs.pages[page] = make([]uint32, 1<<pageBits)
	}
	cs.pages[page][number&(1<<pageBits-1)] = at + 1
	cs.count++
	c := &cs.slabs[at/slabSize][at%slabSize]
	*c = change{number: number, mint: mint, before: cs.bytes.put(before), begun: true}
	return c
}

func (cs *changes) grow() {
	first := uint32(len(cs.slabs) * slabSize)
	cs.slabs = append(cs.slabs, new([slabSize]change))
	for at := first + slabSize; at > first; at-- {
		cs.free = append(cs.free, at-1)
	}
}

// end forgets a change.
func (cs *changes) end(c *change) {
	if cs.count--; cs.count == 0 && len(cs.slabs) > maxIdle {
		*cs = changes{} // frees the memory that many changes took
		return
	}
	place := &cs.pages[c.number>>pageBits][c.number&(1<<pageBits-1)]
	cs.free = append(cs.free, *place-1)
	*place = 0
	cs.bytes.drop(c.before)
	cs.bytes.drop(c.between)
	*c = change{}
}

// setBefore replaces c.before by a copy of state.
func (cs *changes) setBefore(c *change, state []byte) {
	was := c.before
	c.before = cs.bytes.put(state)
	cs.bytes.drop(was)
}

// betweens returns the states of c.between. The list is valid until the next call, the states until
// setBetweens.
func (cs *changes) betweens(c *change) []between {
	cs.list = cs.list[:0]
	for bytes := cs.bytes.get(c.between); len(bytes) > 0; {
		slot, length := binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint32(bytes[8:])
		cs.list = append(cs.list, between{slot, bytes[12:][:length]})
		bytes = bytes[12+length:]
	}
	return cs.list
}

// setBetweens stores copies of the states, each after its slot and its length.
func (cs *changes) setBetweens(c *change, list []between) {
	packed := cs.packed[:0]
	for _, b := range list {
		packed = binary.LittleEndian.AppendUint64(packed, b.slot)
		packed = binary.LittleEndian.AppendUint32(packed, uint32(len(b.state)))
		packed = append(packed, b.state...)
	}
	was := c.between
	c.between, cs.packed = cs.bytes.put(packed), packed
	cs.bytes.drop(was)
}
