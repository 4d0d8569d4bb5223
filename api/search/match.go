package search

import (
	"bytes"
	"math/bits"
	"slices"
)

// match sets the flags of the texts of the view at hand.
func (s *searcher) match() {
	s.fit()
	s.similarTexts()
	if s.collect { // those marked so far are the similar ones
		for i, t := range s.matched {
			s.shared[t] = s.sharing[i]
		}
	}
	s.containingTexts()
	s.editedSymbols()
}

// fit makes room for the texts of the view at hand.
func (s *searcher) fit() {
	texts := s.view.texts()
	if s.bare {
		s.marked.fit(texts)
	} else if texts > len(s.flags) {
		s.flags, s.shared = make([]flag, texts), make([]uint16, texts)
	}
}

func (s *searcher) mark(t uint32, f flag) {
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
func (s *searcher) isMarked(t uint32) bool {
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
	for i, g := range s.required {
		var l list
		if at := s.requiredAt[i]; at >= 0 {
			l = s.found[at]
		} else {
			l = s.view.list(g)
		}
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
	for at := range s.lists[0].set[:s.view.words()] {
		all := ^uint64(0)
		for i := range s.lists {
			all &= s.lists[i].set[at]
		}
		if s.bare {
			all = s.marked.addCertain(all, at, doubts)
		}
		for ; all != 0; all &= all - 1 {
			s.markContaining(uint32(at*64+bits.TrailingZeros64(all)), doubts)
		}
	}
}

// markContaining marks a text that has all that is required, if it contains the query.
func (s *searcher) markContaining(t uint32, doubts []uint64) {
	if !s.collect && s.isMarked(t) {
		return
	}
	if isCertain := doubts != nil && doubts[t/64]>>(t%64)&1 == 0; isCertain || s.view.contains(t, &s.needle) {
		s.mark(t, flagContains)
	}
}

// hasAll looks a text up in the lists that have bitmaps.
func hasAll(lists []list, t uint32) bool {
	for i := range lists {
		if lists[i].set != nil && lists[i].set[t/64]>>(t%64)&1 == 0 {
			return false
		}
	}
	return true
}

// lowerBound is the first place whose text is not less than t.
func lowerBound(list []uint32, t uint32) int {
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
				s.mark(uint32(t), flagContains)
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
		for _, e := range v.halves.list(key) {
			if t := e.text(); maybeEdit(e.sketch(), s.sketch) && !s.isEdited(t) && s.isEdit(v.text(t)) {
				s.mark(t, flagEdit)
			}
		}
	}
}

// isEdited says that a symbol is marked as one edit away, or counted anyhow where it is only counted.
func (s *searcher) isEdited(t uint32) bool {
	if s.bare {
		return (s.marked.any[t/64]|s.marked.edited[t/64])>>(t%64)&1 != 0
	}
	return s.flags[t]&flagEdit != 0 || !s.collect && s.flags[t]&flagAny != 0
}

// similarTexts marks the texts whose similarity suffices, and, where tokens are collected, writes down what they share.
//
// Texts lie in the order of the number of their trigrams, so those that need to share equally many are neighbours. A text that shares
// so many must be found after leaving out any but one of as many lists; so the longest ones are left out, and what is found in the others is
// looked up in their bitmaps.
func (s *searcher) similarTexts() {
	v, n := s.view, len(s.grams)
	s.found, s.gramLists = s.found[:0], s.gramLists[:0]
	dense := 0
	for _, g := range s.grams {
		l := v.list(g)
		s.found = append(s.found, l)
		if len(l.texts) > 0 {
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
				s.ranges[i] = s.ranges[i][lowerBound(s.ranges[i], uint32(first)):]
			}
			from = first
		}
		s.countShared(from, to, band.need, min(dense, band.need-1))
		from = to
	}
}

// countShared looks at the texts from, to (exclusive), before which all are cut off, and cuts them off. So many of the longest lists are
// left out, and looked up in.
func (s *searcher) countShared(from, to, need, left int) {
	short, long := len(s.gramLists)-left, s.gramLists[len(s.gramLists)-left:]
	s.parts = s.parts[:0]
	entries := 0
	for i, texts := range s.ranges {
		end := len(texts)
		if to < s.view.texts() {
			end = lowerBound(texts, uint32(to))
		}
		s.ranges[i] = texts[end:]
		if i < short && end > 0 {
			s.parts = append(s.parts, texts[:end])
			entries += end
		}
	}
	if s.isPlaned(entries, (to-from)/64) {
		s.countPlanes(s.gramLists, from, to, need)
		return
	}
	for len(s.parts) >= need-left {
		first := s.countWindow(uint16(need - left))
		for _, t := range s.texts {
			count := int(s.window[t-first])
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
		s.leaveWindow(first)
	}
}

// windowTexts are counted at once: as many counts as a core's nearest cache holds.
const windowTexts = 1 << 13

// countWindow counts in how many of the parts the texts from the first on are, as far as a window reaches, and lists those that are in enough.
func (s *searcher) countWindow(enough uint16) (first uint32) {
	first = none
	for _, texts := range s.parts {
		first = min(first, texts[0])
	}
	s.texts, s.ends = s.texts[:0], s.ends[:0]
	for _, texts := range s.parts {
		at := 0
		for ; at < len(texts); at++ {
			place := texts[at] - first
			if place >= windowTexts {
				break
			}
			count := s.window[place] + 1
			s.window[place] = count
			if count == enough {
				s.texts = append(s.texts, texts[at])
			}
		}
		s.ends = append(s.ends, at)
	}
	return first
}

// leaveWindow takes the counts away, and what was counted off the parts.
func (s *searcher) leaveWindow(first uint32) {
	left := s.parts[:0]
	for i, texts := range s.parts {
		for _, t := range texts[:s.ends[i]] {
			s.window[t-first] = 0
		}
		if texts = texts[s.ends[i]:]; len(texts) > 0 {
			left = append(left, texts)
		}
	}
	s.parts = left
}

// isPlaned says that counting by planes is quicker than so many entries of lists are, and gets it ready: an entry is looked at twice, and a
// word of 64 texts costs about one for each list; an entry of a list without a bitmap must be written into one first.
func (s *searcher) isPlaned(entries, words int) bool {
	lists := s.gramLists
	return len(lists) <= maxPlaned && 2*entries > words*len(lists)+lacking(lists) && s.fillSets(lists)
}
