package main

import (
	"slices"
	"unicode"
)

// trigrams returns the sorted trigrams of a text as pg_trgm makes them: each word has two blanks
// before and one after it. A trigram is packed into a number, 21 bits for each character. Engines
// without trigrams of their own use them.
func trigrams(text string) []uint64 {
	var set []uint64
	word := []rune("  ")
	end := func() {
		if len(word) > 2 {
			word = append(word, ' ')
			for i := 0; i+3 <= len(word); i++ {
				set = append(set, uint64(word[i])<<42|uint64(word[i+1])<<21|uint64(word[i+2]))
			}
			word = word[:2]
		}
	}
	for _, r := range text {
		if unicode.In(r, unicode.L, unicode.Nd, unicode.M) {
			word = append(word, r)
		} else {
			end()
		}
	}
	end()
	slices.Sort(set)
	return slices.Compact(set)
}

// sharedShare returns the similarity of two sorted sets as in pg_trgm: the number of trigrams in
// both over the number in either.
func sharedShare(a, b []uint64) float64 {
	shared := 0
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); ok {
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}
