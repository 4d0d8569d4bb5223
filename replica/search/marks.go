package search

import (
	"slices"
	"unicode/utf8"
)

// The trigrams of pg_trgm do not tell which characters stand between words: "coin(" and "coin,"
// have the same. So texts are also listed by their marks, which is what is neither letter, digit
// nor blank: by each mark, and by each two and three runes side by side with a mark among them. Few
// names have any, so these lists are short. Their keys are trigrams that pg_trgm does not make:
// those have three runes, none a mark.

// isMark says that a rune is neither part of a word nor a blank.
func isMark(r rune) bool { return r != ' ' && !isWordRune(r) }

// hasMark says that the text has a mark in it.
func hasMark(text string) bool {
	for _, r := range text {
		if isMark(r) {
			return true
		}
	}
	return false
}

// markRune is the number of a rune in keys, where 0 is none.
func markRune(r rune) gram {
	if r == 0 {
		return runeMask // beyond the last rune there is
	}
	return gram(r)
}

// appendMarks appends the set of the keys of the text's marks, sorted. Those of fewer runes than
// least are left out.
func appendMarks(set []gram, text string, least int) []gram {
	from := len(set)
	var before, previous rune
	count := 0 // of the runes up to here
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		count++
		one, two, three := isMark(r), count > 1 && isMark(previous), count > 2 && isMark(before)
		if one && least <= 1 {
			set = append(set, markRune(r))
		}
		if count > 1 && least <= 2 && (one || two) {
			set = append(set, markRune(previous)<<21|markRune(r))
		}
		if count > 2 && (one || two || three) {
			set = append(set, markRune(before)<<42|markRune(previous)<<21|markRune(r))
		}
		before, previous = previous, r
	}
	slices.Sort(set[from:])
	return set[:from+len(slices.Compact(set[from:]))]
}
