package pubkey

import (
	"encoding/binary"
	"math/bits"
)

// Base58 of 32 bytes is a number of at most 44 digits. It is computed ten digits at a time, as many
// as fit 64 bits: math/big and general encoders take several times as long, and allocate.

const (
	alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base     = 58
	// group is how many digits are computed at a time, groups how many groups hold every key.
	group  = 10
	groups = 5
	// wholeGroup is base^group.
	wholeGroup = 430_804_206_899_405_824
)

// digits has the digit of each character, or noDigit.
var digits = func() (table [256]byte) {
	for i := range table {
		table[i] = noDigit
	}
	for i := range len(alphabet) {
		table[alphabet[i]] = byte(i)
	}
	return table
}()

const noDigit = 0xff

// leadingZeros returns how many zero bytes a key begins with. Each is a character of its text, the
// digit 0.
func (k Key) leadingZeros() int {
	n := 0
	for n < Size && k[n] == 0 {
		n++
	}
	return n
}

// Append appends the key in base58.
func (k Key) Append(dst []byte) []byte {
	var words [4]uint64 // the most significant first
	for i := range words {
		words[i] = binary.BigEndian.Uint64(k[8*i:])
	}
	var text [group * groups]byte
	for at := len(text); at > 0; {
		var rest uint64
		for i := range words {
			words[i], rest = bits.Div64(rest, words[i], wholeGroup)
		}
		for range group {
			at--
			text[at] = alphabet[rest%base]
			rest /= base
		}
	}
	first := 0
	for first < len(text) && text[first] == alphabet[0] {
		first++
	}
	return append(dst, text[first-k.leadingZeros():]...)
}

// parse reads base58. It returns false if text is no key.
func parse[T string | []byte](text T) (k Key, ok bool) {
	var words [4]uint64
	for i := 0; i < len(text); {
		part, times := uint64(0), uint64(1)
		for end := min(i+group, len(text)); i < end; i++ {
			digit := digits[text[i]]
			if digit == noDigit {
				return Key{}, false
			}
			part, times = part*base+uint64(digit), times*base
		}
		for j := len(words) - 1; j >= 0; j-- {
			high, low := bits.Mul64(words[j], times)
			var carry uint64
			words[j], carry = bits.Add64(low, part, 0)
			part = high + carry
		}
		if part != 0 {
			return Key{}, false // more than 32 bytes
		}
	}
	for i, word := range words {
		binary.BigEndian.PutUint64(k[8*i:], word)
	}
	zeros := 0
	for zeros < len(text) && text[zeros] == alphabet[0] {
		zeros++
	}
	return k, zeros == k.leadingZeros()
}
