package search

import "slices"

// A term that contains each three runes of a query need not contain the query: they may lie apart.
// Reading each such term takes most of a search for a frequent word. It is needless where the term
// has no fork at a pair inside the query. A fork is two runes side by side that occur in the term
// more than once, with different runes in front.
//
// For example the query "token" needs the threes tok, oke and ken; the pairs inside it are ok and
// ke. Take the place of ken in a term. Its pair ke is no fork, so the same rune is in front of ke
// wherever that stands. That rune is o, as oke is in the term, so oke ends here, too. The pair ok
// is no fork, so in the same way tok ends there: the term contains "token". In "oke tok ken" the
// threes are all there as well, but ke has a blank in front once, and o once: it is a fork, and the
// term must be read.
//
// So terms are also listed by their forks. Pairs with a blank have none: of queries of several
// words all terms are read.

// forkBit tells a fork from a gram, which has 63 bits.
const forkBit = gram(1) << 63

// forkOf is what the terms are listed by in which two runes are a fork.
func forkOf(first, second rune) gram { return forkBit | gramRune(first)<<runeBits | gramRune(second) }

// appendForks appends the set of the forks of the text whose grams are those from there on. The
// start of a text counts as a blank.
func appendForks(set []gram, from int, text string) []gram {
	end := len(set)
	if hasPunctuation(text) {
		set = appendFronts(set, text)
	} else {
		for _, g := range set[from:end] {
			if g&runeMask != ' ' {
				set = append(set, g&pairMask<<runeBits|g>>(2*runeBits))
			}
		}
	}
	fronts := set[end:]
	slices.Sort(fronts)
	kept := 0
	for i := 1; i < len(fronts); i++ {
		if fronts[i] == fronts[i-1] || fronts[i]>>runeBits != fronts[i-1]>>runeBits {
			continue
		}
		if pair := fronts[i]>>runeBits | forkBit; kept == 0 || fronts[kept-1] != pair {
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
			set = append(set, gramRune(previous)<<(2*runeBits)|gramRune(r)<<runeBits|gramRune(before))
		}
		before, previous = previous, r
	}
	return set
}

// innerPairs returns the pairs inside a query that must not be forks in a term, so that all of the
// required grams prove that it contains the query. It returns false when they do not prove it: when
// the query has a blank, or is one or two letters, which require no gram.
func innerPairs(text string) (forks []gram, isProof bool) {
	runes := []rune(text)
	if len(runes) < 3 && !hasPunctuation(text) || slices.Contains(runes, ' ') {
		return nil, false
	}
	for i := 1; i+2 < len(runes); i++ {
		forks = append(forks, forkOf(runes[i], runes[i+1]))
	}
	return forks, true
}
