package search

import (
	"hash/maphash"
	"unsafe"
)

// termSet gives each distinct term a number, in the order in which they come. There are millions
// while a registry loads, so the terms have no pointers for the garbage collector to follow.
type termSet struct {
	seed  maphash.Seed
	arena []byte
	ends  []uint32 // of each term in the arena
	table []uint32 // by hash: the number plus one, 0 is free
}

func newTermSet(terms int) *termSet {
	s := &termSet{seed: maphash.MakeSeed()}
	size := 16
	for size*3 < terms*4 {
		size *= 2
	}
	s.table = make([]uint32, size)
	return s
}

func (s *termSet) len() int { return len(s.ends) }

// number returns the number of a term, a new one if it has none.
func (s *termSet) number(text string) uint32 {
	if (len(s.ends)+1)*4 > len(s.table)*3 {
		s.grow()
	}
	cell := s.find(text)
	if *cell == 0 {
		s.arena = append(s.arena, text...)
		s.ends = append(s.ends, uint32(len(s.arena)))
		*cell = uint32(len(s.ends))
	}
	return *cell - 1
}

// find returns the cell of a term in the table, or the free one where it would be.
func (s *termSet) find(text string) *uint32 {
	mask := uint64(len(s.table) - 1)
	for at := maphash.String(s.seed, text) & mask; ; at = (at + 1) & mask {
		if cell := &s.table[at]; *cell == 0 || s.text(*cell-1) == text {
			return cell
		}
	}
}

func (s *termSet) grow() {
	s.table = make([]uint32, 2*len(s.table))
	for number := range s.ends {
		*s.find(s.text(uint32(number))) = uint32(number + 1)
	}
}

// text returns the term of a number. It stays valid: the arena is only appended to.
func (s *termSet) text(number uint32) string {
	from := uint32(0)
	if number > 0 {
		from = s.ends[number-1]
	}
	if from == s.ends[number] {
		return ""
	}
	return unsafe.String(&s.arena[from], int(s.ends[number]-from)) //nolint:gosec // within the arena, see above
}
