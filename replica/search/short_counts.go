package search

import "unicode/utf8"

const (
	shortRunes = '~' - ' ' + 1
	// shortKeys counts the texts of one or two printable ASCII characters.
	shortKeys = shortRunes * (1 + shortRunes)
)

// shortCounts has, for each text of one or two printable ASCII characters, how many tokens contain
// it in symbol or name: all tokens, then those of the classic program. Such a query matches so much
// of the registry that counting at each search would take long.
type shortCounts [shortKeys][2]uint32

// shortKey returns the index of a text in shortCounts; false if it is not one of them.
func shortKey(text string) (int, bool) {
	key := 0
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return 0, false
		}
		key = key*shortRunes + int(text[i]-' ')
	}
	return key + (len(text)-1)*shortRunes, len(text) == 1 || len(text) == 2
}

// shortSet collects the keys of the short texts that a token contains, each once.
type shortSet struct {
	seen  [shortKeys]uint32 // the epoch in which a key was gathered
	epoch uint32
	keys  []int
}

// of returns the keys of a token. They are valid until the next call.
func (s *shortSet) of(symbol, name string) []int {
	s.epoch++
	s.keys = s.keys[:0]
	for _, text := range [2]string{symbol, name} {
		for i := range len(text) {
			for _, end := range [2]int{i + 1, i + 2} {
				if end > len(text) || text[end-1] >= utf8.RuneSelf {
					break
				}
				if key, ok := shortKey(text[i:end]); ok && s.seen[key] != s.epoch {
					s.seen[key] = s.epoch
					s.keys = append(s.keys, key)
				}
			}
		}
	}
	return s.keys
}

// of returns the count of a key.
func (c *shortCounts) of(key int, classicOnly bool) int {
	if classicOnly {
		return int(c[key][1])
	}
	return int(c[key][0])
}

// sum adds the counts of other tokens.
func (c *shortCounts) sum(other *shortCounts) {
	for key := range c {
		c[key][0] += other[key][0]
		c[key][1] += other[key][1]
	}
}

// add counts a token that contains the texts of keys. delta is 1 for a new token, and -1 for one
// that is removed. classic says that the token is of the classic token program.
func (c *shortCounts) add(keys []int, classic bool, delta int) {
	for _, key := range keys {
		c[key][0] += uint32(delta)
		if classic {
			c[key][1] += uint32(delta)
		}
	}
}
