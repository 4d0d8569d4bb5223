package search

import "math/bits"

// mintKeyLength is how many bytes 44 characters of six bits take.
const mintKeyLength = 33

// mintKey is a mint packed so that keys compare as the texts do. Each character has six bits: its
// number from 1 in the order of ASCII, and 0 after the end. It is half the size of a string and has
// no pointer.
type mintKey [mintKeyLength]byte

// mintCodes are the numbers of the characters; 0 is not a character of a mint.
var mintCodes = func() (codes [256]byte) {
	for code, c := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
		codes[c] = byte(code + 1)
	}
	return codes
}()

// packMint packs a mint; false if it is not one, see Document.
func packMint(mint string) (key mintKey, ok bool) {
	if mint == "" || len(mint) > maxMintLength {
		return key, false
	}
	at := 0
	for from := 0; from < len(mint); from += 4 { // four characters make three bytes
		four := uint32(0)
		for i := from; i < from+4; i++ {
			four <<= 6
			if i < len(mint) {
				code := mintCodes[mint[i]]
				if code == 0 {
					return mintKey{}, false
				}
				four |= uint32(code)
			}
		}
		key[at], key[at+1], key[at+2] = byte(four>>16), byte(four>>8), byte(four)
		at += 3
	}
	return key, true
}

// length returns how many characters the mint has.
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

// unpackMint returns the mint of a key.
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
