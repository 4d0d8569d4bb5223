package search

import (
	"bytes"
	"encoding/binary"
	"math"
)

// textSpare bytes follow the last term, so that eight bytes can be read at once from where any term
// begins.
const textSpare = 8

// pattern is a text to look for in terms. Most terms are so short that bytes.Index, which is made
// for long texts, takes several times as long.
type pattern struct {
	text []byte
	// first are the first eight bytes as a number, mask those of them that the text has.
	first, mask uint64
}

func newPattern(text string) pattern {
	p := pattern{text: []byte(text), mask: math.MaxUint64}
	var buf [textSpare]byte
	if length := copy(buf[:], text); length < len(buf) {
		p.mask = 1<<(8*length) - 1
	}
	p.first = binary.LittleEndian.Uint64(buf[:])
	return p
}

// isIn says whether the bytes from, to (exclusive) of a dictionary's text contain the pattern.
func (p *pattern) isIn(text []byte, from, to uint32) bool {
	last := int(to) - len(p.text)
	for at := int(from); at <= last; at++ {
		if binary.LittleEndian.Uint64(text[at:at+textSpare])&p.mask == p.first &&
			(len(p.text) <= textSpare || bytes.Equal(text[at:at+len(p.text)], p.text)) {
			return true
		}
	}
	return false
}
