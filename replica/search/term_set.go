package search

import "strings"

// termSet gives each distinct term a number, in the order in which they come.
type termSet struct {
	numbers map[string]uint32
	texts   []string // by number
	size    int      // bytes of all texts
}

func newTermSet(terms int) *termSet {
	return &termSet{numbers: make(map[string]uint32, terms), texts: make([]string, 0, terms)}
}

// number returns the number of a term, a new one if it has none.
func (s *termSet) number(text string) uint32 {
	number, known := s.numbers[text]
	if !known {
		text = strings.Clone(text) // it may be a part of a longer one
		number = uint32(len(s.texts))
		s.numbers[text] = number
		s.texts = append(s.texts, text)
		s.size += len(text)
	}
	return number
}

// text returns the term of a number.
func (s *termSet) text(number uint32) string { return s.texts[number] }
