package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalise makes texts comparable: NFKC, full case folding, without code points that Unicode calls
// default ignorable (zero-width characters, bidirectional controls, variation selectors, fillers:
// nobody sees or types them, and "U\u200bSDC" must not hide from who searches USDC), and no white
// space around. It is Unicode's NFKC_Casefold, trimmed. Folding can leave NFKC (U+0345 folds to a
// letter that recomposes) and so can removing, hence the second pass.
func Normalise(text string) string {
	if isASCII(text) {
		return strings.TrimSpace(strings.ToLower(text))
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	folded := strings.Map(foldRune, cases.Fold().String(norm.NFKC.String(text)))
	return strings.TrimSpace(norm.NFKC.String(folded))
}

// foldRune is applied to each rune after case folding; -1 removes it.
func foldRune(r rune) rune {
	if r >= 0xAD && isIgnorable(r) {
		return -1
	}
	return foldCherokee(r)
}

// isIgnorable returns whether a rune has the property Default_Ignorable_Code_Point, derived as in
// https://www.unicode.org/reports/tr44/.
func isIgnorable(r rune) bool {
	switch {
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	case r >= 0xFFF9 && r <= 0xFFFB, r >= 0x13430 && r <= 0x13440:
		// interlinear annotation, Egyptian format controls
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// foldCherokee maps small Cherokee letters to capital ones, as CaseFolding.txt of Unicode does for
// this script alone. golang.org/x/text exchanges the two cases instead, so that a letter would not
// match itself in the other case.
func foldCherokee(r rune) rune {
	switch {
	case r >= 0xAB70 && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case r >= 0x13F8 && r <= 0x13FD:
		return r - 8
	}
	return r
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
