package search

import "slices"

// A text that has each trigram of a word need not contain the word: the trigrams may lie apart. But take the place of the last trigram. Where the
// text has one rune only in front of the first two of it, wherever they stand side by side, the trigram before lies there, and so on to the
// first. So a text in which none of the word's inner pairs is a fork, and that has the trigrams, contains the word. Lists of the texts in
// which a pair is a fork are kept beside those of the trigrams.

// minDoubts is how many texts must be at hand to make a set of those to read.
const minDoubts = 64

const (
	// forkBit tells a fork from a trigram, which has 63 bits.
	forkBit  = gram(1) << 63
	runeMask = gram(1)<<21 - 1
	pairMask = gram(1)<<42 - 1
)

// forkOf is what the texts are listed by in which two letters or digits side by side have different runes in front.
func forkOf(first, second rune) gram { return forkBit | gram(first)<<21 | gram(second) }

// appendForks appends the set of the forks of the text whose trigrams are those from there on.
func appendForks(set []gram, from int) []gram {
	end := len(set)
	for _, g := range set[from:end] {
		if g&runeMask != ' ' {
			set = append(set, g&pairMask)
		}
	}
	pairs := set[end:]
	slices.Sort(pairs)
	kept := 0
	for i := 1; i < len(pairs); i++ {
		if pair := pairs[i] | forkBit; pairs[i] == pairs[i-1] && (kept == 0 || pairs[kept-1] != pair) {
			pairs[kept] = pair // before i, which is still to be read
			kept++
		}
	}
	return set[:end+kept]
}

// innerPairs are those that must not be forks in a text so that having all trigrams of a word is containing it; false when the query is not
// one word, or too short for a trigram. A word that is one trigram has none.
func innerPairs(text string) (pairs []gram, isWord bool) {
	runes := []rune(text)
	if len(runes) < 3 {
		return nil, false
	}
	for i, r := range runes {
		if !isWordRune(r) {
			return nil, false
		}
		if i > 0 && i+2 < len(runes) {
			pairs = append(pairs, forkOf(r, runes[i+1]))
		}
	}
	return pairs, true
}

// doubts makes the set of the texts that must be read though they have all of the word's trigrams, or returns nil when all must. The lists
// are those of the trigrams, the shortest first.
func (s *searcher) doubts(lists []list) []uint64 {
	if !s.isWord || len(lists[0].texts) < minDoubts {
		return nil
	}
	for i := range lists[1:] {
		if lists[i+1].set == nil {
			return nil
		}
	}
	set := &s.doubted
	clear(set[:])
	for _, pair := range s.inner {
		for _, t := range s.view.list(pair).texts {
			set[t/64] |= 1 << (t % 64)
		}
	}
	return set[:]
}
