package search

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
)

const (
	// pageSize is how many slots a change of one volume copies.
	pageSize = 256
	// unknownSeen is the first_seen_at of a token without one: it sorts last.
	unknownSeen = math.MaxInt64
	// noVolume is the bit of a key that says that the volume is unknown.
	noVolume = 1 << 63
)

// orderKey is a number that sorts tokens by volume descending (unknown last), then, where no volume
// is known, by first_seen_at ascending. Tokens with equal keys and a volume are still to be sorted
// by first_seen_at; with equal keys and times by mint.
func orderKey(volume float64, known bool, seen int64) uint64 {
	if known {
		return math.MaxInt64 - math.Float64bits(volume)
	}
	return noVolume | uint64(max(seen, 0))
}

// view is a segment in one state of the index. Views are immutable; the writer makes new ones that
// share what did not change.
type view struct {
	*segment
	alive   []uint64 // a bit for each slot whose token is (still) to be found here
	classic []uint64 // those of the classic token program
	epoch   uint64   // of alive: the number of the version that changed it
	live    int
	liveOld int // live ones of the classic program
	keys    []*[pageSize]uint64
	seen    []*[pageSize]int64
	best    []uint64 // of each page the least key of a live token
}

// view is the first view of a segment that was just built.
func (b *builder) view(s *segment) *view {
	n := len(b.keys)
	pages := (n + pageSize - 1) / pageSize
	v := &view{
		segment: s, alive: make([]uint64, (n+63)/64), classic: b.classic[:(n+63)/64], live: n,
		keys: make([]*[pageSize]uint64, pages), seen: make([]*[pageSize]int64, pages), best: make([]uint64, pages),
	}
	for i := range pages {
		v.keys[i], v.seen[i], v.best[i] = new([pageSize]uint64), new([pageSize]int64), math.MaxUint64
	}
	for slot, key := range b.keys {
		page := slot / pageSize
		v.keys[page][slot%pageSize], v.seen[page][slot%pageSize] = key, b.seen[slot]
		v.best[page] = min(v.best[page], key)
		v.alive[slot/64] |= 1 << (slot % 64)
	}
	v.liveOld = countBits(v.classic, 0, uint32(n))
	return v
}

func (v *view) key(slot uint32) uint64   { return v.keys[slot/pageSize][slot%pageSize] }
func (v *view) seenAt(slot uint32) int64 { return v.seen[slot/pageSize][slot%pageSize] }
func (v *view) isAlive(slot uint32) bool { return v.alive[slot/64]>>(slot%64)&1 != 0 }

func (v *view) isClassic(slot uint32) bool { return v.classic[slot/64]>>(slot%64)&1 != 0 }

// countBits counts the bits from, to (exclusive).
func countBits(set []uint64, from, to uint32) int {
	if from >= to {
		return 0
	}
	first, last := from/64, (to-1)/64
	head, tail := ^uint64(0)<<(from%64), ^uint64(0)>>(63-(to-1)%64)
	if first == last {
		return bits.OnesCount64(set[first] & head & tail)
	}
	count := bits.OnesCount64(set[first]&head) + bits.OnesCount64(set[last]&tail)
	for _, word := range set[first+1 : last] {
		count += bits.OnesCount64(word)
	}
	return count
}

// version is one state of the index.
type version struct {
	number uint64
	views  []*view
	attrs  []attributes // by number; grows only
	shorts *shortCounts
	live   int
	// liveClassic are those of the classic token program.
	liveClassic int
	leaders     [classes]*leaders
}

// place is where a token is: the serial of its segment and its slot. The serial 0 is nowhere.
type place struct{ serial, slot uint32 }

// draft is a view under construction: what it owns may be changed.
type draft struct {
	*view
	ownBits bool
	ownKeys []bool
	ownSeen []bool
	changed []bool // pages whose bound may not be tight any more
}

func newDraft(v *view) *draft {
	next := *v
	next.keys, next.seen, next.best = slices.Clone(v.keys), slices.Clone(v.seen), slices.Clone(v.best)
	return &draft{view: &next, ownKeys: make([]bool, len(v.keys)), ownSeen: make([]bool, len(v.keys)), changed: make([]bool, len(v.keys))}
}

// kill takes a slot's token away.
func (d *draft) kill(slot uint32) {
	if !d.ownBits {
		d.alive, d.classic, d.ownBits = slices.Clone(d.alive), slices.Clone(d.classic), true
	}
	bit := uint64(1) << (slot % 64)
	d.live--
	d.changed[slot/pageSize] = true
	if d.classic[slot/64]&bit != 0 {
		d.liveOld--
	}
	d.alive[slot/64] &^= bit
	d.classic[slot/64] &^= bit
}

// rekey gives a slot another volume or time.
func (d *draft) rekey(slot uint32, key uint64, seen int64) {
	page, at := slot/pageSize, slot%pageSize
	if d.keys[page][at] != key {
		if !d.ownKeys[page] {
			clone := *d.keys[page]
			d.keys[page], d.ownKeys[page] = &clone, true
		}
		d.keys[page][at], d.changed[page] = key, true
	}
	if d.seen[page][at] != seen {
		if !d.ownSeen[page] {
			clone := *d.seen[page]
			d.seen[page], d.ownSeen[page] = &clone, true
		}
		d.seen[page][at] = seen
	}
}

// finish makes the bounds of the changed pages tight again. The version is the one that the view is
// for.
func (d *draft) finish(version uint64) *view {
	if d.ownBits {
		d.epoch = version
	}
	for page, changed := range d.changed {
		if !changed {
			continue
		}
		best := uint64(math.MaxUint64)
		for at := range min(pageSize, d.slots()-page*pageSize) {
			if d.isAlive(uint32(page*pageSize + at)) {
				best = min(best, d.keys[page][at])
			}
		}
		d.best[page] = best
	}
	return d.view
}

// compareSlots orders what has equal keys: first_seen_at ascending, then the mint.
func compareSlots(a *view, slotA uint32, b *view, slotB uint32, byTime bool) int {
	if byTime {
		if seenA, seenB := a.seenAt(slotA), b.seenAt(slotB); seenA != seenB {
			if seenA < seenB {
				return -1
			}
			return 1
		}
	}
	return bytes.Compare(a.mint(slotA), b.mint(slotB))
}
