package search

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// gram is three runes, 21 bits each, the first in the highest.
type gram uint64

const (
	runeBits = 21
	runeMask = gram(1)<<runeBits - 1
	pairMask = gram(1)<<(2*runeBits) - 1
	gramMask = gram(1)<<(3*runeBits) - 1
)

// grams is the sorted set of trigrams as PostgreSQL's pg_trgm forms it: each run of letters and
// digits is a word, padded with two blanks in front and one behind.
// https://www.postgresql.org/docs/15/pgtrgm.html#PGTRGM-CONCEPTS
func grams(text string) []gram { return slices.Clip(appendGrams(nil, text)) }

// appendGrams appends grams(text).
func appendGrams(set []gram, text string) []gram {
	from := len(set)
	window, inWord := gram(0), false
	for _, r := range text {
		switch {
		case isWordRune(r):
			if !inWord {
				window, inWord = gram(' ')<<runeBits|gram(' '), true
			}
			window = (window<<runeBits | gram(r)) & gramMask
			set = append(set, window)
		case inWord:
			window, inWord = (window<<runeBits|gram(' '))&gramMask, false
			set = append(set, window)
		}
	}
	if inWord {
		set = append(set, (window<<runeBits|gram(' '))&gramMask)
	}
	slices.Sort(set[from:])
	return set[:from+len(slices.Compact(set[from:]))]
}

// isWordRune returns whether a rune is part of a word: a letter, a digit, or a mark on one.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// score returns the similarity of two sets of n and m grams with shared grams in common: the
// Jaccard coefficient, the size of the intersection over the size of the union.
func score(shared, n, m int) float64 {
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(n+m-shared)
}

// countShared returns how many grams two sorted sets have in common.
func countShared(a, b []gram) (shared int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			shared++
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return shared
}
