package search

import (
	"bytes"
	"math/bits"
	"slices"
)

// match sets the flags of the texts of the view at hand.
func (s *searcher) match() {
	s.similarTexts()
	if s.collect { // those marked so far are the similar ones
		for i, t := range s.matched {
			s.shared[t] = s.sharing[i]
		}
	}
	s.containingTexts()
	s.editedSymbols()
}

func (s *searcher) mark(t uint16, f flag) {
	if s.bare {
		s.marked.set(t, f)
		return
	}
	if s.flags[t] == 0 {
		s.matched = append(s.matched, t)
	}
	s.flags[t] |= f
}

// isMarked says that the tokens of a text are counted anyhow.
func (s *searcher) isMarked(t uint16) bool {
	if s.bare {
		return s.marked.any[t/64]>>(t%64)&1 != 0
	}
	return s.flags[t]&flagAny != 0
}

// leave takes the marks away again.
func (s *searcher) leave() {
	for _, t := range s.matched {
		s.flags[t], s.shared[t] = 0, 0
	}
	s.matched, s.sharing = s.matched[:0], s.sharing[:0]
	if s.bare {
		s.marked.clear()
	}
	s.emptySets()
}

// containingTexts marks the texts that contain the query. Where tokens are only counted it is enough to mark what is not marked yet.
func (s *searcher) containingTexts() {
	if len(s.required) == 0 {
		s.scanBlocks([]byte(s.text))
		return
	}
	s.lists = s.lists[:0]
	for _, g := range s.required {
		l := s.view.list(g)
		if len(l.texts) == 0 {
			return
		}
		s.lists = append(s.lists, l)
	}
	slices.SortFunc(s.lists, func(a, b list) int { return len(a.texts) - len(b.texts) })
	rest := s.lists[1:]
	// To read a text costs as much as some ten entries of a bitmap.
	if len(s.lists[0].texts) >= minDoubts && lacking(rest) < 8*len(s.lists[0].texts) {
		s.fillSets(rest)
	}
	doubts := s.doubts(s.lists)
	if s.lists[0].set != nil {
		s.containingDense(doubts)
		return
	}
	for _, t := range s.lists[0].texts {
		if hasAll(rest, t) {
			s.markContaining(t, doubts)
		}
	}
}

// containingDense is for lists that all have bitmaps.
func (s *searcher) containingDense(doubts []uint64) {
	for at := range s.lists[0].set[:(s.view.texts()+63)/64] {
		all := ^uint64(0)
		for i := range s.lists {
			all &= s.lists[i].set[at]
		}
		if s.bare {
			all = s.marked.addCertain(all, at, doubts)
		}
		for ; all != 0; all &= all - 1 {
			s.markContaining(uint16(at*64+bits.TrailingZeros64(all)), doubts)
		}
	}
}

// markContaining marks a text that has all that is required, if it contains the query.
func (s *searcher) markContaining(t uint16, doubts []uint64) {
	if !s.collect && s.isMarked(t) {
		return
	}
	if isCertain := doubts != nil && doubts[t/64]>>(t%64)&1 == 0; isCertain || s.view.contains(t, &s.needle) {
		s.mark(t, flagContains)
	}
}

// hasAll looks a text up in the lists that have bitmaps.
func hasAll(lists []list, t uint16) bool {
	for i := range lists {
		if lists[i].set != nil && lists[i].set[t/64]>>(t%64)&1 == 0 {
			return false
		}
	}
	return true
}

// lowerBound is the first place whose text is not less than t.
func lowerBound(list []uint16, t uint16) int {
	from, to := 0, len(list)
	for from < to {
		middle := (from + to) / 2
		if list[middle] < t {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}

// scanBlocks finds what trigrams cannot: it reads the texts in the blocks that have the query's first two runes.
func (s *searcher) scanBlocks(text []byte) {
	v := s.view
	for _, block := range v.blocks.list(s.short) {
		t := int(block) * blockSize
		if t >= v.texts() {
			continue
		}
		end := min(t+blockSize, v.texts())
		at, to := v.offsets[t], v.offsets[end]
		for at < to {
			next := bytes.Index(v.arena[at:to], text)
			if next < 0 {
				break
			}
			at += uint32(next)
			for v.offsets[t+1] <= at {
				t++
			}
			if at+uint32(len(text)) <= v.offsets[t+1] {
				s.mark(uint16(t), flagContains)
				at = v.offsets[t+1]
			} else {
				at++
			}
		}
	}
}

// editedSymbols marks the symbols one edit away.
func (s *searcher) editedSymbols() {
	v := s.view
	for _, key := range s.edits {
		for _, t := range v.halves.list(key) {
			if s.flags[t]&flagEdit == 0 && (s.collect || !s.isMarked(t)) && s.isEdit(v.text(t)) {
				s.mark(t, flagEdit)
			}
		}
	}
}

// similarTexts marks the texts whose similarity suffices, and, where tokens are collected, writes down what they share.
//
// Texts lie in the order of the number of their trigrams, so those that need to share equally many are neighbours. A text that shares
// so many must be found after leaving out any but one of as many lists; so the longest ones are left out, and what is found in the others is
// looked up in their bitmaps.
func (s *searcher) similarTexts() {
	v, n := s.view, len(s.grams)
	s.gramLists = s.gramLists[:0]
	dense := 0
	for _, g := range s.grams {
		if l := v.list(g); len(l.texts) > 0 {
			s.gramLists = append(s.gramLists, l)
			if l.set != nil {
				dense++
			}
		}
	}
	slices.SortFunc(s.gramLists, func(a, b list) int { return len(a.texts) - len(b.texts) })
	s.ranges = s.ranges[:0]
	for i := range s.gramLists {
		s.ranges = append(s.ranges, s.gramLists[i].texts)
	}
	from := 0 // all before is cut off the ranges
	for _, band := range s.bands {
		to := v.withGrams(band.to)
		if band.need > len(s.gramLists) || band.need > n || from == to {
			continue
		}
		if first := v.withGrams(band.from); first > from {
			for i := range s.ranges {
				s.ranges[i] = s.ranges[i][lowerBound(s.ranges[i], uint16(first)):]
			}
		}
		s.countShared(max(from, v.withGrams(band.from)), to, band.need, min(dense, band.need-1))
		from = to
	}
}

// countShared looks at the texts from, to (exclusive), before which all are cut off, and cuts them off. So many of the longest lists are
// left out, and looked up in.
func (s *searcher) countShared(from, to, need, left int) {
	enough := uint16(need - left)
	short, long := len(s.gramLists)-left, s.gramLists[len(s.gramLists)-left:]
	s.texts, s.parts = s.texts[:0], s.parts[:0]
	entries := 0
	for i, texts := range s.ranges {
		end := len(texts)
		if to < s.view.texts() {
			end = lowerBound(texts, uint16(to))
		}
		s.ranges[i] = texts[end:]
		if i < short {
			s.parts = append(s.parts, texts[:end])
			entries += end
		}
	}
	if s.isPlaned(entries, (to-from)/64) {
		s.countPlanes(s.gramLists, from, to, need)
		return
	}
	for _, texts := range s.parts {
		for _, t := range texts {
			count := s.shared[t] + 1
			s.shared[t] = count
			if count == enough {
				s.texts = append(s.texts, t)
			}
		}
	}
	for _, t := range s.texts {
		count := int(s.shared[t])
		for i := range long {
			count += int(long[i].set[t/64] >> (t % 64) & 1)
		}
		if count >= need {
			s.mark(t, flagSimilar)
			if !s.bare {
				s.sharing = append(s.sharing, uint16(count))
			}
		}
	}
	for _, texts := range s.parts {
		for _, t := range texts {
			s.shared[t] = 0
		}
	}
}

// isPlaned says that counting by planes is quicker than so many entries of lists are, and gets it ready: an entry is looked at twice, and a
// word of 64 texts costs about one for each list; an entry of a list without a bitmap must be written into one first.
func (s *searcher) isPlaned(entries, words int) bool {
	lists := s.gramLists
	return len(lists) <= maxPlaned && 2*entries > words*len(lists)+lacking(lists) && s.fillSets(lists)
}
