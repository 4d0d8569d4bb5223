package search

import (
	"slices"
	"unicode/utf8"
)

// The trigrams of pg_trgm do not tell which characters stand between words: "coin(" and "coin,"
// have the same. So terms are also listed by their punctuation, which is any rune that is not a
// letter, digit or blank: by each such rune, and by each two and three neighbouring runes of which
// one is such. Few names have any, so these lists are short. These grams differ from those of
// pg_trgm, which have three runes and no punctuation.

// isPunctuation returns whether a rune is neither part of a word nor a blank.
func isPunctuation(r rune) bool { return r != ' ' && !isWordRune(r) }

func hasPunctuation(text string) bool {
	for _, r := range text {
		if isPunctuation(r) {
			return true
		}
	}
	return false
}

// gramRune returns the number of a rune in a gram. 0 means no rune, so the rune 0 gets another
// number.
func gramRune(r rune) gram {
	if r == 0 {
		return runeMask // above every rune
	}
	return gram(r)
}

// appendPunctuation appends the sorted set of a text's grams with punctuation, of one to three
// runes. Those with fewer than least runes are left out.
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
