package search

import (
	"hash/maphash"
	"unsafe"
)

// textSet numbers texts in the order in which they come, each once. There are millions of them
// while a registry loads, so the collector finds no pointer to each.
type textSet struct {
	seed  maphash.Seed
	arena []byte
	ends  []uint32 // of each text in the arena
	table []uint32 // by hash: the number plus one, 0 is free
}

func newTextSet(texts int) *textSet {
	s := &textSet{seed: maphash.MakeSeed()}
	size := 16
	for size*3 < texts*4 {
		size *= 2
	}
	s.table = make([]uint32, size)
	return s
}

func (s *textSet) len() int { return len(s.ends) }

// number is a new one where the text has none.
func (s *textSet) number(text string) uint32 {
	if (len(s.ends)+1)*4 > len(s.table)*3 {
		s.grow()
	}
	place := s.find(text)
	if *place == 0 {
		s.arena = append(s.arena, text...)
		s.ends = append(s.ends, uint32(len(s.arena)))
		*place = uint32(len(s.ends))
	}
	return *place - 1
}

// find is the place of a text in the table, or the free one where it would be.
func (s *textSet) find(text string) *uint32 {
	mask := uint64(len(s.table) - 1)
	for at := maphash.String(s.seed, text) & mask; ; at = (at + 1) & mask {
		if place := &s.table[at]; *place == 0 || s.text(*place-1) == text {
			return place
		}
	}
}

func (s *textSet) grow() {
	s.table = make([]uint32, 2*len(s.table))
	for number := range s.ends {
		*s.find(s.text(uint32(number))) = uint32(number + 1)
	}
}

// text keeps what it was said to be: the arena is only appended to.
func (s *textSet) text(number uint32) string {
	from := uint32(0)
	if number > 0 {
		from = s.ends[number-1]
	}
	if from == s.ends[number] {
		return ""
	}
	return unsafe.String(&s.arena[from], int(s.ends[number]-from)) //nolint:gosec // within the arena, see above
}
