package search

import (
	"math/bits"
	"unicode/utf8"
)

// One edit changes only one half of a symbol. So the texts one edit away from a query begin with
// the first half of what the query begins with, or end as it ends, where the halves are those of
// the symbol: for each of the three lengths that a symbol may have, two look-ups find all.

// edited is a symbol in the index of halves: its number, and in the upper half its sketch. Half of
// a symbol is shared by many that are more than an edit away, which the sketch tells of most of
// them without reading them.
type edited uint64

func newEdited(t, sketch uint32) edited { return edited(sketch)<<32 | edited(t) }

func (e edited) text() uint32   { return uint32(e) }
func (e edited) sketch() uint32 { return uint32(e >> 32) }

// sketchOf is a set of the text's runes in 32 bits.
func sketchOf(text []byte) (sketch uint32) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		sketch |= 1 << (uint32(r) * 0x9E3779B1 >> 27)
		text = text[size:]
	}
	return sketch
}

// maybeEdit is false when one edit, which takes a rune away and adds another at most, surely does
// not make one text of the other.
func maybeEdit(a, b uint32) bool { return bits.OnesCount32(a^b) <= 2 }

// hashHalf is the hash of the first or last half of a symbol of so many runes.
func hashHalf[T string | []byte](runes int, isFirst bool, half T) uint32 {
	hash := uint64(runes)<<1 | 1
	if isFirst {
		hash ^= 0xABCDEF << 20
	}
	for i := range len(half) {
		hash = (hash ^ uint64(half[i])) * 0x100000001B3
	}
	return uint32(hash * 0x9E3779B97F4A7C15 >> 32)
}

// editKeys are the hashes to look up for a query.
func editKeys(text string, runes int) []uint32 {
	var keys []uint32
	for length := max(1, runes-1); length <= runes+1; length++ {
		first, last := length/2, length-length/2
		if first <= runes {
			keys = append(keys, hashHalf(length, true, text[:cutAfter([]byte(text), first)]))
		}
		if last <= runes {
			keys = append(keys, hashHalf(length, false, text[cutAfter([]byte(text), runes-last):]))
		}
	}
	return keys
}

// isEdit says that text is one edit away from the plan's: what is left of both without what they
// begin and end with alike is one rune, or none in one of them.
func (p *plan) isEdit(text []byte) bool {
	query := p.text
	// A rune is one to four bytes.
	if difference := len(text) - len(query); difference < -4 || difference > 4 {
		return false
	}
	from, common := 0, min(len(text), len(query))
	for from < common && text[from] == query[from] {
		from++
	}
	to := 0
	for to < common-from && text[len(text)-1-to] == query[len(query)-1-to] {
		to++
	}
	left, right := len(text)-from-to, len(query)-from-to
	if left > utf8.UTFMax || right > utf8.UTFMax {
		return false
	}
	if left <= 1 && right <= 1 && p.ascii {
		return left+right > 0
	}
	return oneEdit(query, string(text)) // bytes may be alike within runes that are not
}

// typoScore is 1 less the one edit's share of the longer text.
func typoScore(queryRunes int, symbol []byte) float64 {
	return 1 - 1/float64(max(queryRunes, utf8.RuneCount(symbol)))
}
