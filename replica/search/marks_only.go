package search

import (
	"iter"
	"math/bits"
)

// Where tokens are only counted it is enough to know of each text whether it matches: a bit. Sets
// of 64 texts are then added at once.

// marks are the texts of a view that match.
type marks struct {
	any []uint64
	// edited are one edit away, which counts for symbols only.
	edited []uint64
	// touched are the words of both that are not 0: most queries match few texts, and must not look
	// at all.
	touched []uint64
}

// fit makes room for so many words of texts. There are no marks.
func (m *marks) fit(words int) {
	if words > len(m.any) {
		m.any, m.edited, m.touched = make([]uint64, words), make([]uint64, words), make([]uint64, (words+63)/64)
	}
}

func (m *marks) set(t uint32, f flag) {
	if f&flagAny != 0 {
		m.add(int(t/64), 1<<(t%64))
		return
	}
	m.edited[t/64] |= 1 << (t % 64)
	m.touched[t/4096] |= 1 << (t / 64 % 64)
}

// add marks some of 64 texts as similar, or as containing the query.
func (m *marks) add(at int, texts uint64) {
	if texts != 0 {
		m.any[at] |= texts
		m.touched[at/64] |= 1 << (at % 64)
	}
}

// words are the places of the words with marks.
func (m *marks) words() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, group := range m.touched {
			for ; group != 0; group &= group - 1 {
				if !yield(i*64 + bits.TrailingZeros64(group)) {
					return
				}
			}
		}
	}
}

// clear takes all marks away.
func (m *marks) clear() {
	for at := range m.words() {
		m.any[at], m.edited[at] = 0, 0
	}
	clear(m.touched)
}

// isWanted says that a token with these texts is counted.
func (m *marks) isWanted(symbol, name uint32) bool {
	return (m.any[symbol/64]|m.edited[symbol/64])>>(symbol%64)&1 != 0 || m.any[name/64]>>(name%64)&1 != 0
}

// addCertain adds those of 64 texts that have all that is required and no doubt; what is left is to
// be read.
func (m *marks) addCertain(all uint64, at int, doubts []uint64) (left uint64) {
	all &^= m.any[at]
	if doubts == nil {
		return all
	}
	m.add(at, all&^doubts[at])
	return all & doubts[at]
}

// countMarks counts the tokens of the texts marked: those of the names, and those of the symbols of
// which the name is not marked. Slots lie in the order of their symbols, so that those of like
// symbols are neighbours. What is left out by a filter or is gone is subtracted, or, where that is
// more than what is marked, not counted in the first place.
func (s *searcher) countMarks() {
	v, m := s.view, &s.marked
	marked := 0
	for at := range m.words() {
		marked += bits.OnesCount64(m.any[at] | m.edited[at])
	}
	switch excluded := v.slots() - s.filter.live(v); {
	case marked == 0:
	case excluded == 0:
		s.total += s.countMarked()
	case excluded < marked:
		s.total += s.countMarked() - s.countExcluded()
	default:
		s.total += s.countWanted()
	}
}

// countMarked counts all slots with marked texts. What of them lies anywhere in memory is gathered
// first and looked up then, so that a core waits for many at a time.
func (s *searcher) countMarked() (total int) {
	v, m := s.view, &s.marked
	s.texts, s.spans = s.texts[:0], s.spans[:0]
	for at := range m.words() {
		names := m.any[at]
		total += bits.OnesCount64(names & v.nameOnce[at])
		for several := names & v.nameMore[at]; several != 0; several &= several - 1 {
			t := at*64 + bits.TrailingZeros64(several)
			total += int(v.nameFirst[t+1] - v.nameFirst[t])
		}
		for symbols := (names | m.edited[at]) & v.isSymbol[at]; symbols != 0; symbols &= symbols - 1 {
			s.texts = append(s.texts, v.symRank[at*64+bits.TrailingZeros64(symbols)])
		}
	}
	for _, rank := range s.texts {
		s.spans = append(s.spans, span{v.symFirst[rank], v.symFirst[rank+1]})
	}
	for _, slots := range s.spans {
		for _, name := range v.name[slots.from:slots.to] {
			total += int(^m.any[name/64] >> (name % 64) & 1)
		}
	}
	return total
}

// countExcluded counts the slots with marked texts that are not wanted.
func (s *searcher) countExcluded() (total int) {
	v, m := s.view, &s.marked
	for at, wanted := range s.bits {
		excluded := ^wanted
		if left := v.slots() - at*64; left < 64 {
			excluded &= 1<<left - 1
		}
		for ; excluded != 0; excluded &= excluded - 1 {
			slot := at*64 + bits.TrailingZeros64(excluded)
			if m.isWanted(v.sym[slot], v.name[slot]) {
				total++
			}
		}
	}
	return total
}

// countWanted counts the slots with marked texts one by one.
func (s *searcher) countWanted() (total int) {
	v, m := s.view, &s.marked
	for at := range m.words() {
		for symbols := (m.any[at] | m.edited[at]) & v.isSymbol[at]; symbols != 0; symbols &= symbols - 1 {
			rank := v.symRank[at*64+bits.TrailingZeros64(symbols)]
			total += countBits(s.bits, v.symFirst[rank], v.symFirst[rank+1])
		}
		for names := m.any[at] & (v.nameOnce[at] | v.nameMore[at]); names != 0; names &= names - 1 {
			t := at*64 + bits.TrailingZeros64(names)
			for i := v.nameFirst[t]; i < v.nameFirst[t+1]; i++ {
				symbol, slot := v.nameSyms[i], v.nameSlots[i]
				if (m.any[symbol/64]|m.edited[symbol/64])>>(symbol%64)&1 == 0 {
					total += int(s.bits[slot/64] >> (slot % 64) & 1)
				}
			}
		}
	}
	return total
}
