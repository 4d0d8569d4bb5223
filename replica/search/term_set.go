package search

import "strings"

// termSet gives each distinct term a number, in the order in which they come.
type termSet struct {
	numbers map[string]uint32
	texts   []string // by number
	size    int      // bytes of all texts
	// room is where the next texts go. With a piece of memory for each of two million terms,
	// collections of garbage took a third of the time of a load.
	room strings.Builder
}

// room has leastRoom to mostRoom bytes: about as many as the texts of the set have so far.
const leastRoom, mostRoom = 1 << 8, 1 << 16

func newTermSet(terms int) *termSet {
	return &termSet{numbers: make(map[string]uint32, terms), texts: make([]string, 0, terms)}
}

// number returns the number of a term, a new one if it has none.
func (s *termSet) number(text string) uint32 {
	number, known := s.numbers[text]
	if !known {
		text = s.keep(text)
		number = uint32(len(s.texts))
		s.numbers[text] = number
		s.texts = append(s.texts, text)
		s.size += len(text)
	}
	return number
}

// keep returns a copy of a text, which may be a part of a longer one.
func (s *termSet) keep(text string) string {
	if s.room.Cap()-s.room.Len() < len(text) {
		s.room = strings.Builder{}
		s.room.Grow(max(len(text), min(max(s.size, leastRoom), mostRoom)))
	}
	begin := s.room.Len()
	s.room.WriteString(text)
	return s.room.String()[begin:]
}

// text returns the term of a number.
func (s *termSet) text(number uint32) string { return s.texts[number] }
