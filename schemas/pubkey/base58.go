package pubkey

import (
	"encoding/binary"
	"math/bits"
)

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// A step of the conversion takes stepDigits base-58 digits: 58^10 is below 2^64.
const (
	stepDigits = 10
	stepValue  = 430_804_206_899_405_824 // 58^10
	halfValue  = 656_356_768             // 58^5
)

const noDigit = 255

// digitOf is the value of a base-58 digit, noDigit for any other byte.
var digitOf = func() (table [256]uint8) {
	for i := range table {
		table[i] = noDigit
	}
	for i := range len(alphabet) {
		table[alphabet[i]] = uint8(i)
	}
	return table
}()

// limbs are a key as a number, the lowest 64 bits first.
type limbs [Size / 8]uint64

// Parse reads base58 of exactly 32 bytes. The error is ErrText.
func Parse[T string | []byte](text T) (key Key, err error) {
	if len(text) < MinText || len(text) > MaxText {
		return Key{}, ErrText
	}
	var n limbs
	for at := 0; at < len(text); {
		var step, scale uint64 = 0, 1
		for end := min(at+stepDigits, len(text)); at < end; at++ {
			digit := digitOf[text[at]]
			if digit == noDigit {
				return Key{}, ErrText
			}
			step, scale = step*58+uint64(digit), scale*58
		}
		carry := step
		for i := range n {
			high, low := bits.Mul64(n[i], scale)
			sum, over := bits.Add64(low, carry, 0)
			n[i], carry = sum, high+over
		}
		if carry != 0 {
			return Key{}, ErrText
		}
	}
	for i := range n {
		binary.BigEndian.PutUint64(key[8*i:], n[len(n)-1-i])
	}
	ones := 0
	for ones < len(text) && text[ones] == alphabet[0] {
		ones++
	}
	if ones != key.zeros() {
		return Key{}, ErrText
	}
	return key, nil
}

// zeros is the number of leading zero bytes, each of which is a leading '1' in base58.
func (k *Key) zeros() int {
	for i, b := range k {
		if b != 0 {
			return i
		}
	}
	return Size
}

// Append appends the key in base58.
func (k Key) Append(dst []byte) []byte {
	for range k.zeros() {
		dst = append(dst, alphabet[0])
	}
	var n limbs
	for i := range n {
		n[len(n)-1-i] = binary.BigEndian.Uint64(k[8*i:])
	}
	var digits [5 * stepDigits]byte
	at := len(digits)
	for n != (limbs{}) {
		var rest uint64
		for i := len(n) - 1; i >= 0; i-- {
			n[i], rest = bits.Div64(rest, n[i], stepValue)
		}
		at -= stepDigits
		// Two halves, which the processor computes side by side.
		high, low := uint32(rest/halfValue), uint32(rest%halfValue)
		for i := stepDigits/2 - 1; i >= 0; i-- {
			digits[at+i], digits[at+i+stepDigits/2] = alphabet[high%58], alphabet[low%58]
			high, low = high/58, low/58
		}
	}
	for at < len(digits) && digits[at] == alphabet[0] {
		at++
	}
	return append(dst, digits[at:]...)
}
