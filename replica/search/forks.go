package search

import "slices"

// A text that has each three runes of a query that stand side by side need not contain the query:
// they may lie apart. But take the place of the last three. Where the text has one rune only in
// front of the first two of them, wherever those stand side by side, the three before lie there,
// and so on to the first. So a text in which none of the query's inner pairs is a fork, and that
// has all of its threes, contains it. Lists of the texts in which a pair is a fork are kept beside
// those of the trigrams. Pairs with a blank have none: queries of several words are read in the
// texts.

// minDoubts is how many texts must be at hand to make a set of those to read.
const minDoubts = 64

const (
	// forkBit tells a fork from a trigram, which has 63 bits.
	forkBit  = gram(1) << 63
	runeMask = gram(1)<<21 - 1
	pairMask = gram(1)<<42 - 1
)

// forkOf is what the texts are listed by in which two runes side by side, neither a blank, have
// different runes in front.
func forkOf(first, second rune) gram { return forkBit | markRune(first)<<21 | markRune(second) }

// appendForks appends the set of the forks of the text whose trigrams are those from there on. The
// start of a text counts as a blank.
func appendForks(set []gram, from int, text string) []gram {
	end := len(set)
	if hasMark(text) {
		set = appendFronts(set, text)
	} else {
		for _, g := range set[from:end] {
			if g&runeMask != ' ' {
				set = append(set, g&pairMask<<21|g>>42)
			}
		}
	}
	fronts := set[end:]
	slices.Sort(fronts)
	kept := 0
	for i := 1; i < len(fronts); i++ {
		if fronts[i] == fronts[i-1] || fronts[i]>>21 != fronts[i-1]>>21 {
			continue
		}
		if pair := fronts[i]>>21 | forkBit; kept == 0 || fronts[kept-1] != pair {
			fronts[kept] = pair // before i, which is still to be read
			kept++
		}
	}
	return set[:end+kept]
}

// appendFronts appends each two runes of the text of which none is a blank, and what is in front of
// them.
func appendFronts(set []gram, text string) []gram {
	before, previous := ' ', ' '
	for _, r := range text {
		if r != ' ' && previous != ' ' {
			set = append(set, markRune(previous)<<42|markRune(r)<<21|markRune(before))
		}
		before, previous = previous, r
	}
	return set
}

// innerPairs are those that must not be forks in a text so that having all that the query requires
// is containing it; false when that does not prove it: when the query has a blank, or is one or two
// letters, which require nothing.
func innerPairs(text string) (pairs []gram, isProven bool) {
	runes := []rune(text)
	if len(runes) < 3 && !hasMark(text) || slices.Contains(runes, ' ') {
		return nil, false
	}
	for i := 1; i+2 < len(runes); i++ {
		pairs = append(pairs, forkOf(runes[i], runes[i+1]))
	}
	return pairs, true
}

// doubts makes the set of the texts that must be read though they have all that the query requires,
// or returns nil when all must. The lists are those of what is required, the shortest first.
func (s *searcher) doubts(lists []list) []uint64 {
	if !s.isProven || len(lists[0].texts) < minDoubts && len(lists) > 1 {
		return nil
	}
	for i := range lists[1:] {
		if lists[i+1].set == nil {
			return nil
		}
	}
	if words := s.view.words(); words > len(s.doubted) {
		s.doubted = make([]uint64, words)
	}
	set := s.doubted[:s.view.words()]
	clear(set)
	for _, pair := range s.inner {
		for _, t := range s.view.list(pair).texts {
			set[t/64] |= 1 << (t % 64)
		}
	}
	return set
}
