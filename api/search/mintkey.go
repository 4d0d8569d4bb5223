package search

import "math/bits"

// mintKeyLength is what 44 characters of six bits need.
const mintKeyLength = 33

// mintKey is a mint packed so that keys compare as the texts do: a digit or letter is a number from 1 in the order of ASCII, and what is
// behind the end is 0. It is half the size of a string and holds no pointer.
type mintKey [mintKeyLength]byte

// packMint is false for what is no mint: see Change.
func packMint(mint string) (key mintKey, ok bool) {
	if !ValidCursor(mint) {
		return key, false
	}
	for i := range len(mint) {
		c := mint[i]
		code := c - '0' + 1
		if c >= 'a' {
			code = c - 'a' + 37
		} else if c >= 'A' {
			code = c - 'A' + 11
		}
		at, shift := i*6>>3, i*6&7
		wide := uint16(code) << (10 - shift)
		key[at] |= byte(wide >> 8)
		if at+1 < mintKeyLength {
			key[at+1] |= byte(wide)
		}
	}
	return key, true
}

// length is how many characters the mint has: those behind it are 0.
func (k *mintKey) length() int {
	last := len(k) - 1
	for last >= 0 && k[last] == 0 {
		last--
	}
	if last < 0 {
		return 0
	}
	// No character is 0, so the last bit that is set is one of the last character's.
	return (last*8 + 8 - bits.TrailingZeros8(k[last]) + 5) / 6
}

// unpackMint is the text again.
func unpackMint(key []byte) string {
	var text [maxMintLength]byte
	for i := range text {
		at, shift := i*6>>3, i*6&7
		wide := uint16(key[at]) << 8
		if at+1 < mintKeyLength {
			wide |= uint16(key[at+1])
		}
		code := byte(wide >> (10 - shift) & 63)
		switch {
		case code == 0:
			return string(text[:i])
		case code < 11:
			text[i] = code - 1 + '0'
		case code < 37:
			text[i] = code - 11 + 'A'
		default:
			text[i] = code - 37 + 'a'
		}
	}
	return string(text[:])
}
