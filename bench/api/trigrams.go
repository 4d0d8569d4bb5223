package main

import (
	"slices"
	"unicode"
)

// trigrams are those of pg_trgm, three characters in a number each, for the engines that have none
// of their own.
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

// sharedShare is the similarity of two sets.
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
