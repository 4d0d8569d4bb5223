package search

import "slices"

// A term that contains every trigram of a query need not contain the query: the trigrams may lie
// apart. Comparing the text of each such term takes most of a search for a frequent word. It is
// needless where the term has no fork at a pair inside the query. A fork is a pair of neighbouring
// runes that occurs in the term more than once, with different runes in front.
//
// For example, the query "token" needs the trigrams tok, oke and ken; the pairs inside it are ok
// and ke. Take a term that has all three trigrams and neither fork, and the place of ken in it. As
// ke is no fork, the same rune is in front of every ke. That rune is o, as oke is in the term: oke
// overlaps ken here. As ok is no fork, tok overlaps oke in the same way: the term contains "token".
// The term "oke tok ken" has all three trigrams too. But ke has an o in front once and a blank
// once: it is a fork, and the text must be compared.
//
// So posting lists also tell which terms have a fork. Pairs with a blank are not listed: for a
// query of several words every text is compared.

// forkBit tells a fork from a gram, which has 63 bits.
const forkBit = gram(1) << 63

// forkOf returns the gram under which the terms are listed that have a fork at this pair of runes.
func forkOf(first, second rune) gram { return forkBit | gramRune(first)<<runeBits | gramRune(second) }

// appendForks appends the set of the text's forks. set[from:] must be the grams of the text. The
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
			fronts[kept] = pair // kept < i, so no unread one is overwritten
			kept++
		}
	}
	return set[:end+kept]
}

// appendFronts appends each pair of neighbouring runes without a blank, with the rune in front of
// it in the low bits.
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

// innerPairs returns the forks at the pairs inside a query. A term that has all required grams of
// the query and none of these forks contains the query. It returns false if that proves nothing:
// the query has a blank, or is one or two letters and requires no gram.
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
