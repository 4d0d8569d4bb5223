package pubkey

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
)

// fullLength is 58^43. Keys from here on, 94 % of all, have a text of 44 characters. Only others
// may have fewer.
var fullLength = func() Key {
	key := Key{Size - 1: 1}
	for range MaxText - 1 {
		carry := 0
		for i := Size - 1; i >= 0; i-- {
			carry += int(key[i]) * 58
			key[i], carry = byte(carry), carry>>8
		}
	}
	return key
}()

// Compare orders keys as their texts compare. ClickHouse and pages of the API order mints so. The
// order of the bytes is another one: a text of 43 characters may come behind one of 44 although the
// bytes of its key are less.
func Compare(a, b Key) int {
	if bytes.Compare(a[:], fullLength[:]) >= 0 && bytes.Compare(b[:], fullLength[:]) >= 0 {
		return bytes.Compare(a[:], b[:]) // of one length: the alphabet is in the order of ASCII
	}
	x, y := alignedOf(a), alignedOf(b)
	for i := range x.words {
		if c := cmp.Compare(x.words[i], y.words[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(x.length, y.length)
}

// Prefix is a number that orders keys as Compare does. Keys whose texts agree in their first ten
// characters or so may have the same number.
func (k Key) Prefix() uint64 {
	words := alignedOf(k).words
	return words[0]<<62 | words[1]>>2 // 258 bits hold every text
}

// aligned is a text as a number of 44 digits to the base 58, filled up with zeros at its end.
type aligned struct {
	words  [5]uint64 // the most significant first
	length int       // characters
}

// alignedOf multiplies the key, as a number, by 58 once for each character that its text is shorter
// than 44.
func alignedOf(k Key) aligned {
	a := aligned{length: MaxText}
	for i := range 4 {
		a.words[i+1] = binary.BigEndian.Uint64(k[8*i:])
	}
	if bytes.Compare(k[:], fullLength[:]) >= 0 {
		return a
	}
	leading := 0 // zero bytes: each is a character, the digit 0
	for leading < Size && k[leading] == 0 {
		leading++
	}
	if leading == Size {
		a.length = Size
		return a
	}
	digits := MaxText // of the number, without the leading zeros
	for number := a; number.isShort(); digits-- {
		number.timesBase()
	}
	for a.length = leading + digits; digits < MaxText-leading; digits++ {
		a.timesBase()
	}
	return a
}

// isShort reports a number of fewer than 44 digits.
func (a *aligned) isShort() bool {
	if a.words[0] != 0 {
		return false
	}
	for i := range 4 {
		if c := cmp.Compare(a.words[i+1], binary.BigEndian.Uint64(fullLength[8*i:])); c != 0 {
			return c < 0
		}
	}
	return false
}

func (a *aligned) timesBase() {
	var carry uint64
	for i := len(a.words) - 1; i >= 0; i-- {
		high, low := bits.Mul64(a.words[i], 58)
		var more uint64
		a.words[i], more = bits.Add64(low, carry, 0)
		carry = high + more
	}
}
