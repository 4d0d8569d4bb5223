package search

import (
	"bytes"
	"encoding/binary"
	"math"
)

// textSpare is how many bytes follow the last term, so that eight bytes can be read at once from
// the start of any term.
const textSpare = 8

// pattern is a text to find in terms. bytes.Index is made for long texts and takes several times as
// long on terms, of which most are short.
type pattern struct {
	text []byte
	// first is the first eight bytes as a number, mask the bits of it that belong to the text.
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

// isIn returns whether text[from:to], within a dictionary's text, contains the pattern.
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
