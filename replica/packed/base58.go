package packed

import (
	"encoding/binary"
	"math/bits"
)

const alphabet58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

const (
	// limbDigits base-58 digits are one step of the conversion: 58^10 is below 2^64.
	limbDigits = 10
	limbValue  = 430_804_206_899_405_824 // 58^10
	halfValue  = 656_356_768             // 58^5

	keySize = 32
	// maxKeyText is the length of the longest key in base58.
	maxKeyText = 44
)

// digitOf is the value of a base-58 digit, 255 for what is none.
var digitOf = func() (table [256]uint8) {
	for i := range table {
		table[i] = 255
	}
	for i := range len(alphabet58) {
		table[alphabet58[i]] = uint8(i)
	}
	return table
}()

// number is an unsigned integer of 320 bits, the lowest limb first: a key has 256 bits, an IPFS
// multihash 272.
type number [5]uint64

// append58 appends n with at least one digit for each of zeros, without other leading zeros. It is
// here because keys are converted at every lookup, and takes a quarter of the time of a conversion
// for any length.
func append58(dst []byte, n number, zeros int) []byte {
	for range zeros {
		dst = append(dst, '1')
	}
	var digits [60]byte
	at := len(digits)
	top := len(n)
	for {
		for top > 0 && n[top-1] == 0 {
			top--
		}
		if top == 0 {
			break
		}
		var rest uint64
		for i := top - 1; i >= 0; i-- {
			n[i], rest = bits.Div64(rest, n[i], limbValue)
		}
		at -= limbDigits
		// Two halves, which the processor reckons side by side.
		high, low := uint32(rest/halfValue), uint32(rest%halfValue)
		for i := limbDigits/2 - 1; i >= 0; i-- {
			digits[at+i] = alphabet58[high%58]
			digits[at+i+limbDigits/2] = alphabet58[low%58]
			high /= 58
			low /= 58
		}
	}
	for at < len(digits) && digits[at] == '1' {
		at++
	}
	return append(dst, digits[at:]...)
}

// parse58 reads digits only; false for other bytes and for numbers beyond 320 bits.
func parse58(text string) (n number, ok bool) {
	for len(text) > 0 {
		size := min(len(text), limbDigits)
		var limb, power uint64 = 0, 1
		for i := range size {
			digit := digitOf[text[i]]
			if digit == 255 {
				return n, false
			}
			limb = limb*58 + uint64(digit)
			power *= 58
		}
		carry := limb
		for i := range n {
			high, low := bits.Mul64(n[i], power)
			var c uint64
			n[i], c = bits.Add64(low, carry, 0)
			carry = high + c
		}
		if carry != 0 {
			return n, false
		}
		text = text[size:]
	}
	return n, true
}

// Key is a public key.
type Key [keySize]byte

// ParseKey reads base58 of 32 bytes; false for anything else, so that a key has one text only.
func ParseKey(text string) (key Key, ok bool) {
	if len(text) < keySize || len(text) > maxKeyText {
		return key, false
	}
	n, ok := parse58(text)
	if !ok || n[4] != 0 {
		return key, false
	}
	for i := range 4 {
		binary.BigEndian.PutUint64(key[8*i:], n[3-i])
	}
	ones := 0
	for ones < len(text) && text[ones] == '1' {
		ones++
	}
	return key, ones == key.zeros()
}

// zeros is the number of leading zero bytes.
func (k *Key) zeros() int {
	for i, b := range k {
		if b != 0 {
			return i
		}
	}
	return keySize
}

// Append appends the key in base58.
func (k *Key) Append(dst []byte) []byte {
	var n number
	for i := range 4 {
		n[3-i] = binary.BigEndian.Uint64(k[8*i:])
	}
	return append58(dst, n, k.zeros())
}

// String is the key in base58.
func (k *Key) String() string {
	var room [maxKeyText]byte
	return string(k.Append(room[:0]))
}
