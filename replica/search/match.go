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
	s.containingTexts()
	s.editedSymbols()
}

// fit makes room for the texts of the view at hand.
func (s *searcher) fit() {
	if s.marksOnly {
		s.marked.fit(s.view.words())
	}
	if texts := s.view.texts(); texts > len(s.flags) && (s.collect || !s.marksOnly) {
		s.flags = make([]flag, texts)
	}
}

func (s *searcher) mark(t uint32, f flag) {
	if s.marksOnly {
		s.marked.set(t, f)
		if !s.collect {
			return
		}
	}
	if s.flags[t] == 0 {
		s.matched = append(s.matched, t)
	}
	s.flags[t] |= f
}

// markSimilar marks a text that shares so many of the query's trigrams. One below the cutoff is
// only counted.
func (s *searcher) markSimilar(t uint32, shared int) {
	if s.marksOnly && (!s.collect || !s.cutoff.take(shared, len(s.grams)+int(s.view.gramCount[t])-shared)) {
		s.marked.set(t, flagSimilar)
		return
	}
	s.mark(t, similarBy(shared))
}

// isMarked says that the tokens of a text are counted anyhow.
func (s *searcher) isMarked(t uint32) bool {
	if s.marksOnly {
		return s.marked.any[t/64]>>(t%64)&1 != 0
	}
	return s.flags[t]&flagAny != 0
}

// leave takes the marks away again.
func (s *searcher) leave() {
	for _, t := range s.matched {
		s.flags[t] = 0
	}
	s.matched = s.matched[:0]
	if s.marksOnly {
		s.marked.clear()
	}
	s.related = s.related[:0]
	s.emptySets()
}

// containingTexts marks the texts that contain the query. Where tokens are only counted it is
// enough to mark what is not marked yet.
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
	s.texts = s.texts[:0]
	for _, t := range s.lists[0].texts {
		if hasAll(rest, t) {
			s.texts = append(s.texts, t)
		}
	}
	s.markContaining(doubts)
}

// containingDense is for lists that all have bitmaps.
func (s *searcher) containingDense(doubts []uint64) {
	s.texts = s.texts[:0]
	for at := range s.lists[0].set[:s.view.words()] {
		all := ^uint64(0)
		for i := range s.lists {
			all &= s.lists[i].set[at]
		}
		if s.marksOnly && !s.collect {
			all = s.marked.addCertain(all, at, doubts)
		}
		for ; all != 0; all &= all - 1 {
			s.texts = append(s.texts, uint32(at*64+bits.TrailingZeros64(all)))
		}
	}
	s.markContaining(doubts)
}

// markContaining marks those of s.texts, which have all that is required, that contain the query.
func (s *searcher) markContaining(doubts []uint64) {
	read := 0
	for _, t := range s.texts {
		switch {
		case !s.collect && s.isMarked(t):
		case doubts != nil && doubts[t/64]>>(t%64)&1 == 0:
			s.mark(t, flagContains)
		default:
			s.texts[read] = t
			read++
		}
	}
	s.texts = s.texts[:read]
	for i, text := range s.locate() {
		if s.view.contains(text, &s.needle) {
			s.mark(s.texts[i], flagContains)
		}
	}
}

// locate says where s.texts lie, all of which are to be read: a core waits for many at a time when
// it has nothing else to do with them yet.
func (s *searcher) locate() []span {
	v := s.view
	s.spans = s.spans[:0]
	for _, t := range s.texts {
		s.spans = append(s.spans, span{v.offsets[t], v.offsets[int(t)+1]})
	}
	for _, text := range s.spans {
		s.touched += v.arena[text.from]
	}
	return s.spans
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

// scanBlocks finds what trigrams cannot: it reads the texts in the blocks that have the query's
// first two runes.
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
	s.texts = s.texts[:0]
	for _, key := range s.edits {
		for _, e := range v.halves.list(key) {
			if maybeEdit(e.sketch(), s.sketch) {
				s.texts = append(s.texts, e.text())
			}
		}
	}
	for i, text := range s.locate() {
		if t := s.texts[i]; !s.isEdited(t) && s.isEdit(v.arena[text.from:text.to]) {
			s.mark(t, flagEdit)
		}
	}
}

// isEdited says that a symbol is marked as one edit away, or counted anyhow where it is only
// counted.
func (s *searcher) isEdited(t uint32) bool {
	if s.marksOnly && !s.collect {
		return (s.marked.any[t/64]|s.marked.edited[t/64])>>(t%64)&1 != 0
	}
	return s.flags[t]&flagEdit != 0 || !s.collect && s.flags[t]&flagAny != 0
}

// similarTexts marks the texts whose similarity suffices, and, where tokens are collected, writes
// down what they share.
//
// Texts lie in the order of the number of their trigrams, so those that need to share equally many
// are neighbours. A text that shares so many must be found after leaving out any but one of as many
// lists; so the longest ones are left out, and what is found in the others is looked up in their
// bitmaps.
func (s *searcher) similarTexts() {
	v := s.view
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
	s.parts = s.parts[:0]
	for i := range s.gramLists {
		s.parts = append(s.parts, s.gramLists[i].texts)
	}
	for _, band := range s.bands {
		from, to := v.withGrams(band.from), v.withGrams(band.to)
		if band.need <= len(s.gramLists) && from < to {
			s.countShared(from, to, band.need, min(dense, band.need-1))
		}
	}
}

// countShared looks at the texts from, to (exclusive). So many of the longest lists are left out,
// and looked up in; from band to band they become more. Of the others what is before to is cut off.
func (s *searcher) countShared(from, to, need, left int) {
	short, long := len(s.gramLists)-left, s.gramLists[len(s.gramLists)-left:]
	entries := 0
	for i := range short {
		s.parts[i] = cutBefore(s.parts[i], uint32(from))
		entries += len(s.parts[i])
	}
	// What is behind to is not worth a look: of the entries as many are taken to be before it as of
	// the texts.
	entries = entries * (to - from) / (s.view.texts() - from)
	if s.isPlaned(entries, (to-from)/64) {
		s.countPlanes(s.gramLists, from, to, need)
		return
	}
	for {
		first, enough := s.countWindow(s.parts[:short], uint32(to), uint32(need-left))
		if first >= uint32(to) {
			return
		}
		for _, t := range s.texts {
			count := int(s.window[t-first] - s.counted)
			for i := range long {
				count += int(long[i].set[t/64] >> (t % 64) & 1)
			}
			if count >= need {
				s.markSimilar(t, count)
			}
		}
		if !enough {
			return
		}
	}
}

// cutBefore cuts off what is less than from, of which there is mostly nothing.
func cutBefore(texts []uint32, from uint32) []uint32 {
	if len(texts) == 0 || texts[0] >= from {
		return texts
	}
	return texts[lowerBound(texts, from):]
}

const (
	// windowTexts are counted at once: as many counts as a core's nearer caches hold.
	windowTexts = 1 << 14
	// maxCount is more than a text has trigrams.
	maxCount = 1 << 17
)

// countWindow counts in how many of the parts the texts from the first on are, as far as a window
// reaches and before to, cuts them off, and lists those that are in enough. It is false when so few
// parts are left that none can be. What is counted is what a place of the window is above
// s.counted: so nothing has to be taken away again.
func (s *searcher) countWindow(parts [][]uint32, to, enough uint32) (first uint32, more bool) {
	s.counted += maxCount
	if s.counted == 0 { // all numbers were used
		clear(s.window[:])
		s.counted = maxCount
	}
	first = none
	for _, texts := range parts {
		if len(texts) > 0 {
			first = min(first, texts[0])
		}
	}
	s.texts = s.texts[:0]
	end, base := min(uint64(first)+windowTexts, uint64(to)), s.counted
	left := uint32(0)
	for i, texts := range parts {
		at := 0
		for ; at < len(texts); at++ {
			t := texts[at]
			if uint64(t) >= end {
				break
			}
			place := &s.window[(t-first)%windowTexts]
			count := max(*place, base) + 1
			*place = count
			if count == base+enough {
				s.texts = append(s.texts, t)
			}
		}
		if parts[i] = texts[at:]; at < len(texts) {
			left++
		}
	}
	return first, left >= enough
}

// isPlaned says that counting by planes is quicker than so many entries of lists are, and gets it
// ready: an entry is looked at twice, and a word of 64 texts costs about one for each list; an
// entry of a list without a bitmap must be written into one first.
func (s *searcher) isPlaned(entries, words int) bool {
	lists := s.gramLists
	return len(lists) <= maxPlaned && 2*entries > words*len(lists)+lacking(lists) && s.fillSets(lists)
}
