package search

// maxSpare bitmaps are kept at most by a searcher. They are as long as the largest segment at hand
// so far.
const maxSpare = 64

// fillSets gives the lists the bitmaps that they lack; leave takes them back. It is false when
// there are not enough of them.
func (s *searcher) fillSets(lists []list) bool {
	for i := range lists {
		l := &lists[i]
		if l.set != nil {
			continue
		}
		if len(s.lent) == maxSpare {
			return false
		}
		if len(s.lent) == len(s.spare) {
			s.spare = append(s.spare, nil)
		}
		spare := &s.spare[len(s.lent)]
		if words := s.view.words(); words > len(*spare) {
			*spare = make([]uint64, words)
		}
		l.set = *spare
		s.lent = append(s.lent, l.texts)
		for _, t := range l.texts {
			l.set[t/64] |= 1 << (t % 64)
		}
	}
	return true
}

// emptySets makes the bitmaps that were lent empty again. Whoever has one must not use it any more.
func (s *searcher) emptySets() {
	for i, texts := range s.lent {
		for _, t := range texts {
			s.spare[i][t/64] = 0
		}
	}
	clear(s.lent) // what is pooled must not keep segments
	s.lent = s.lent[:0]
}

// lacking is how many texts are in those of the lists that have no bitmap.
func lacking(lists []list) int {
	count := 0
	for i := range lists {
		if lists[i].set == nil {
			count += len(lists[i].texts)
		}
	}
	return count
}
