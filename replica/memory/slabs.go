// Package memory holds very many small strings of bytes outside the heap, by a number and by a key,
// for one writer and any number of readers.
//
// In: keys and their bytes. Out: the bytes, as they were written last. Guarantees: readers take no
// lock and wait for nobody; a reader sees one whole value, never a mixture; a value that is
// replaced is given back, and the memory in use is at most about a quarter more than the values
// need; the garbage collector scans none of it.
//
// How: values are appended to slabs of a mebibyte. A value that changes is written anew, and the
// number's place is changed in one atomic step. A slab of which a fifth is out of date is emptied:
// the writer moves the values that are left, and the slab is used again as soon as no reader is
// inside.
package memory

import (
	"encoding/binary"
	"sync/atomic"
)

const (
	// slabSize is the size of a slab; a value that is larger has one of its own.
	slabSize = 1 << 20
	// maxDead limits the part of a slab that may be out of date to one in maxDead. At a fifth, the
	// writer moves four bytes for each byte that is given back.
	maxDead = 5
	// maxSpare is how many free slabs are kept for the next ones; more go back to the system.
	maxSpare = 16

	offsetBits = 20
	slabBits   = 21
	leafBits   = 10
	leaves     = 1 << (slabBits - leafBits)
	// generationBits are what is left beside the mark.
	generationBits = 64 - 1 - offsetBits - slabBits
)

// place is where a value lies. From the low bits: the mark, the offset in its slab, the slab's
// number, and the generation, which counts the slabs that had this number. By it a reader sees that
// a place it has held for long is out of date. 0 is no place.
type place uint64

func (p place) marked() bool       { return p&1 != 0 }
func (p place) offset() int        { return int(p >> 1 & (1<<offsetBits - 1)) }
func (p place) slab() int          { return int(p >> (1 + offsetBits) & (1<<slabBits - 1)) }
func (p place) generation() uint32 { return uint32(p >> (1 + offsetBits + slabBits)) }

func placeAt(s *slab, offset int, marked bool) place {
	p := place(s.generation)<<(1+offsetBits+slabBits) | place(s.number)<<(1+offsetBits) | place(offset)<<1
	if marked {
		p |= 1
	}
	return p
}

// slab holds values, each after the number it belongs to (four bytes) and its length (unsigned
// varint).
type slab struct {
	bytes      []byte
	number     int
	generation uint32
	// readers counts the readers inside. A retired slab is used again when there are none.
	readers atomic.Int32

	// used and dead are only for the writer: bytes written, and bytes of them out of date.
	used, dead int
}

// slabs are all slabs by their numbers. All but pin is for one writer at a time.
type slabs struct {
	directory [leaves]atomic.Pointer[[1 << leafBits]atomic.Pointer[slab]]
	// generations are those of the slabs that have a number now or had it last.
	generations []uint32
	vacant      []int // numbers without a slab
	current     *slab
	rotten      []*slab // of which more than the maxDead-th part is out of date
	retired     []*slab // in which readers may be still
	spare       [][]byte
	regions     *regions
}

func (s *slabs) entry(number int) *atomic.Pointer[slab] {
	leaf := s.directory[number>>leafBits].Load()
	if leaf == nil {
		return nil
	}
	return &leaf[number&(1<<leafBits-1)]
}

// pin returns the value at a place and its slab, which stays until unpin is called. False if the
// place is out of date.
func (s *slabs) pin(at place) (*slab, []byte, bool) {
	entry := s.entry(at.slab())
	if entry == nil {
		return nil, nil, false
	}
	found := entry.Load()
	if found == nil || found.generation != at.generation() {
		return nil, nil, false
	}
	found.readers.Add(1)
	if entry.Load() != found { // retired meanwhile: the writer may not have seen us
		found.readers.Add(-1)
		return nil, nil, false
	}
	_, value, _ := found.value(at.offset())
	return found, value, true
}

func (s *slab) unpin() { s.readers.Add(-1) }

// value returns the value at an offset, the number it belongs to, and the offset of the next value.
func (s *slab) value(offset int) (number uint32, value []byte, next int) {
	number = binary.LittleEndian.Uint32(s.bytes[offset:])
	size, n := binary.Uvarint(s.bytes[offset+4:])
	from := offset + 4 + n
	next = from + int(size)
	return number, s.bytes[from:next:next], next
}

// put writes a value and returns its place.
func (s *slabs) put(number uint32, value []byte, marked bool) place {
	var head [4 + binary.MaxVarintLen64]byte
	binary.LittleEndian.PutUint32(head[:], number)
	n := 4 + binary.PutUvarint(head[4:], uint64(len(value)))
	size := n + len(value)
	target := s.current
	switch {
	case size > slabSize/2: // a slab of its own
		target = s.open(size)
	case target == nil || target.used+size > len(target.bytes):
		s.current = nil
		if target != nil {
			s.check(target)
		}
		target = s.open(slabSize)
		s.current = target
	}
	at := placeAt(target, target.used, marked)
	copy(target.bytes[target.used:], head[:n])
	copy(target.bytes[target.used+n:], value)
	target.used += size
	return at
}

// open adds an empty slab of at least size bytes.
func (s *slabs) open(size int) *slab {
	s.reclaim()
	opened := &slab{}
	if last := len(s.spare) - 1; size == slabSize && last >= 0 {
		opened.bytes, s.spare = s.spare[last], s.spare[:last]
	} else {
		opened.bytes = s.regions.take(size)
	}
	if last := len(s.vacant) - 1; last >= 0 {
		opened.number, s.vacant = s.vacant[last], s.vacant[:last]
	} else {
		opened.number = len(s.generations)
		s.generations = append(s.generations, 0)
		if leaf := &s.directory[opened.number>>leafBits]; leaf.Load() == nil {
			leaf.Store(new([1 << leafBits]atomic.Pointer[slab]))
		}
	}
	next := (s.generations[opened.number] + 1) & (1<<generationBits - 1)
	opened.generation = max(next, 1) // so that no place is 0
	s.generations[opened.number] = opened.generation
	s.entry(opened.number).Store(opened)
	return opened
}

// drop marks the value at a place as out of date.
func (s *slabs) drop(at place) {
	if at == 0 {
		return
	}
	from := s.entry(at.slab()).Load()
	_, _, next := from.value(at.offset())
	before := from.dead
	from.dead += next - at.offset()
	// The current slab is checked when it is full, any other when it passes the limit: so once.
	if from != s.current && before <= len(from.bytes)/maxDead {
		s.check(from)
	}
}

// check adds a slab to rotten if so much of it is out of date that it is to be emptied.
func (s *slabs) check(full *slab) {
	if full.dead > len(full.bytes)/maxDead {
		s.rotten = append(s.rotten, full)
	}
}

// clean empties the rotten slabs. It calls move for each value in them: if at is still the place of
// the number, move must put the value again and publish its new place.
func (s *slabs) clean(move func(number uint32, at place, value []byte)) {
	for len(s.rotten) > 0 {
		from := s.rotten[len(s.rotten)-1]
		s.rotten = s.rotten[:len(s.rotten)-1]
		for offset := 0; offset < from.used; {
			number, value, next := from.value(offset)
			move(number, placeAt(from, offset, false), value)
			offset = next
		}
		s.entry(from.number).Store(nil)
		s.vacant = append(s.vacant, from.number)
		s.retired = append(s.retired, from)
	}
	s.reclaim()
}

// reclaim frees the memory of retired slabs that have no readers.
func (s *slabs) reclaim() {
	kept := s.retired[:0]
	for _, old := range s.retired {
		switch {
		case old.readers.Load() > 0:
			kept = append(kept, old)
		case len(old.bytes) == slabSize && len(s.spare) < maxSpare:
			s.spare = append(s.spare, old.bytes)
		default:
			s.regions.give(old.bytes)
		}
	}
	clear(s.retired[len(kept):])
	s.retired = kept
}
