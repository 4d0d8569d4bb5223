package search

import (
	"slices"
	"unicode/utf8"
)

// The trigrams of pg_trgm do not tell which characters stand between words: "coin(" and "coin,"
// have the same. So terms are also listed by their punctuation, which is what is neither letter,
// digit nor blank: by each such rune, and by each two and three runes side by side with one among
// them. Few names have any, so these lists are short. Their grams are none that pg_trgm makes:
// those have three runes, none of them punctuation.

// isPunctuation says that a rune is neither part of a word nor a blank.
func isPunctuation(r rune) bool { return r != ' ' && !isWordRune(r) }

func hasPunctuation(text string) bool {
	for _, r := range text {
		if isPunctuation(r) {
			return true
		}
	}
	return false
}

// gramRune is the number of a rune in a gram, where 0 is none.
func gramRune(r rune) gram {
	if r == 0 {
		return runeMask // beyond the last rune there is
	}
	return gram(r)
}

// appendPunctuation appends the set of the grams with punctuation of a text, sorted. Those of fewer
// runes than least are left out.
func appendPunctuation(set []gram, text string, least int) []gram {
	from := len(set)
	var before, previous rune
	count := 0 // of the runes up to here
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		count++
		one, two, three := isPunctuation(r), count > 1 && isPunctuation(previous), count > 2 && isPunctuation(before)
		if one && least <= 1 {
			set = append(set, gramRune(r))
		}
		if count > 1 && least <= 2 && (one || two) {
			set = append(set, gramRune(previous)<<runeBits|gramRune(r))
		}
		if count > 2 && (one || two || three) {
			set = append(set, gramRune(before)<<(2*runeBits)|gramRune(previous)<<runeBits|gramRune(r))
		}
		before, previous = previous, r
	}
	slices.Sort(set[from:])
	return set[:from+len(slices.Compact(set[from:]))]
}
