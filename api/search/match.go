package search

import (
	"bytes"
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
	if s.flags[t] == 0 {
		s.matched = append(s.matched, t)
	}
	s.flags[t] |= f
}

// leave takes the marks away again.
func (s *searcher) leave() {
	for _, t := range s.matched {
		s.flags[t], s.shared[t] = 0, 0
	}
	s.matched, s.sharing = s.matched[:0], s.sharing[:0]
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
	rest, doubts := s.lists[1:], s.doubts(s.lists)
	for _, t := range s.lists[0].texts {
		if !s.collect && s.flags[t] != 0 && s.flags[t] != flagEdit {
			continue
		}
		if !hasAll(rest, t) {
			continue
		}
		if isCertain := doubts != nil && doubts[t/64]>>(t%64)&1 == 0; isCertain || s.view.contains(t, &s.needle) {
			s.mark(t, flagContains)
		}
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
			if f := s.flags[t]; f&flagEdit == 0 && (f == 0 || s.collect) && s.isEdit(v.text(t)) {
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
		s.countShared(to, band.need, min(dense, band.need-1))
		from = to
	}
}

// countShared looks at the texts before to that are not cut off, and cuts them off. So many of the longest lists are left out, and looked
// up in.
func (s *searcher) countShared(to, need, left int) {
	enough := uint16(need - left)
	short, long := len(s.gramLists)-left, s.gramLists[len(s.gramLists)-left:]
	s.texts, s.parts = s.texts[:0], s.parts[:0]
	for i, texts := range s.ranges {
		end := len(texts)
		if to < s.view.texts() {
			end = lowerBound(texts, uint16(to))
		}
		s.ranges[i] = texts[end:]
		if i < short {
			s.parts = append(s.parts, texts[:end])
		}
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
			s.sharing = append(s.sharing, uint16(count))
		}
	}
	for _, texts := range s.parts {
		for _, t := range texts {
			s.shared[t] = 0
		}
	}
}
