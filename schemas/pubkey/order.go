package pubkey

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
)

// fullLength is the number 58^43 as a key. This key and all higher keys, 94 % of all, have a text
// of 44 characters. Only lower keys may have a shorter text.
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
		// Both texts have 44 characters, and the base58 alphabet is in the order of ASCII.
		return bytes.Compare(a[:], b[:])
	}
	x, y := alignedOf(a), alignedOf(b)
	for i := range x.words {
		if c := cmp.Compare(x.words[i], y.words[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(x.length, y.length)
}

// Prefix returns a number that orders keys as Compare does. Keys whose texts agree in about their
// first ten characters may have the same number.
func (k Key) Prefix() uint64 {
	words := alignedOf(k).words
	return words[0]<<62 | words[1]>>2 // the highest 64 of the 258 bits that a text can have
}

// aligned is a key's text as a number with 44 digits in base 58. A shorter text is filled up with
// zero digits at its end.
type aligned struct {
	words  [5]uint64 // the most significant first
	length int       // characters
}

// alignedOf returns the aligned text of a key: the key as a number, times 58 for each character
// that its text is shorter than 44.
func alignedOf(k Key) aligned {
	a := aligned{length: MaxText}
	for i := range 4 {
		a.words[i+1] = binary.BigEndian.Uint64(k[8*i:])
	}
	if bytes.Compare(k[:], fullLength[:]) >= 0 {
		return a
	}
	leading := 0 // zero bytes at the start of the key: base58 writes each as one zero digit
	for leading < Size && k[leading] == 0 {
		leading++
	}
	if leading == Size {
		a.length = Size
		return a
	}
	digits := MaxText // becomes the number's digits in base 58, without the leading zeros
	for number := a; number.isShort(); digits-- {
		number.timesBase()
	}
	for a.length = leading + digits; digits < MaxText-leading; digits++ {
		a.timesBase()
	}
	return a
}

// isShort reports whether the number has fewer than 44 digits in base 58.
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
