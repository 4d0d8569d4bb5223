package registry

import (
	"strings"
	"unicode"
)

// The characters of a text that Shown changes, as RE2 regular expressions for the projector's SQL:
// those that break a line or move the cursor, and those that hide or reorder what is around them.
// A property test holds both ways equal.
const (
	BreakPattern  = `[\x{09}-\x{0D}\x{85}\x{2028}\x{2029}]`
	HiddenPattern = `[\x{00}-\x{1F}\x{7F}-\x{9F}\x{202A}-\x{202E}\x{2066}-\x{2069}]`
)

// Shown makes a name, a symbol or a link of the chain fit for a terminal, a table and a page, which
// must not be moved, hidden or reordered by it: line breaks and tabs become spaces, other control
// characters and overrides of the writing direction are left out, and spaces around are trimmed.
// Facts keep every text, so the root of the registry is that of the chain's own bytes.
func Shown(text string) string {
	if strings.ContainsFunc(text, hidden) {
		text = strings.Map(func(r rune) rune {
			switch {
			case breaks(r):
				return ' '
			case hidden(r):
				return -1
			default:
				return r
			}
		}, text)
	}
	return strings.Trim(text, " ")
}

// hidden reports whether Shown changes the character.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r >= 0x2028 && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

func breaks(r rune) bool {
	return r >= '\t' && r <= '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}
