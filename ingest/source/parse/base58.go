package parse

import (
	"encoding/binary"
	"math/bits"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// base58Digits maps the Bitcoin alphabet to 0..57 and everything else to 255.
var base58Digits = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range []byte("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz") {
		t[c] = byte(i)
	}
	return t
}()

// decodeBase58 appends the decoding of s to dst; false when s holds a foreign character. It takes
// ten digits at a step into 64-bit limbs, which for a key is about ten times as fast as a digit at
// a step into bytes. The work grows with len(s) squared.
func decodeBase58(dst, s []byte) ([]byte, bool) {
	ones := 0
	for ones < len(s) && s[ones] == '1' {
		ones++
	}
	var few [10]uint64 // a signature needs eight
	limbs, rest := few[:0], s[ones:]
	for len(rest) > 0 {
		n := min(len(rest), 10)
		var value, scale uint64 = 0, 1
		for _, c := range rest[:n] {
			digit := base58Digits[c]
			if digit == 255 {
				return nil, false
			}
			value, scale = value*58+uint64(digit), scale*58
		}
		rest = rest[n:]
		carry := value
		for i, limb := range limbs {
			hi, lo := bits.Mul64(limb, scale)
			lo, over := bits.Add64(lo, carry, 0)
			limbs[i], carry = lo, hi+over
		}
		if carry != 0 {
			limbs = append(limbs, carry)
		}
	}
	for range ones {
		dst = append(dst, 0)
	}
	for i := len(limbs) - 1; i >= 0; i-- {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], limbs[i])
		skip := 0
		if i == len(limbs)-1 {
			skip = bits.LeadingZeros64(limbs[i]) / 8
		}
		dst = append(dst, word[skip:]...)
	}
	return dst, true
}

// decodeKey reads a 32-byte base58 key or hash.
func decodeKey(s []byte) (key pubkey.Key, err error) {
	var room [48]byte
	if len(s) <= 44 {
		if out, ok := decodeBase58(room[:0], s); ok && len(out) == len(key) {
			return pubkey.Key(out), nil
		}
	}
	return key, malformed("%.60q is no 32-byte base58 key", s)
}

func decodeSignature(s []byte) (sig chain.Signature, err error) {
	var room [80]byte
	if len(s) <= 88 {
		if out, ok := decodeBase58(room[:0], s); ok && len(out) == len(sig) {
			return chain.Signature(out), nil
		}
	}
	return sig, malformed("%.100q is no 64-byte base58 signature", s)
}

const (
	recentSets = 512
	// recentAfter is how many keys are decoded before remembering them begins to pay: a lone
	// transaction does without.
	recentAfter = 16
)

// recentKeys remembers keys by their base58 text. The token balances of a block name the same
// mints, programs and owners over and over, before and after each transaction. It forgets by
// overwriting, and holds at most recentSets keys. The zero value is empty.
type recentKeys struct {
	asked int
	sets  *[recentSets]recentKey
}

type recentKey struct {
	text [44]byte // padded with zeros, which no base58 text holds
	key  pubkey.Key
}

// key is decodeKey.
func (k *recentKeys) key(s []byte) (pubkey.Key, error) {
	if k.asked++; k.asked < recentAfter || len(s) < 32 || len(s) > len(recentKey{}.text) {
		return decodeKey(s)
	}
	if k.sets == nil {
		k.sets = new([recentSets]recentKey)
	}
	// Eight of the first characters and eight of the last ones, since vanity addresses share one
	// end.
	hash := (binary.LittleEndian.Uint64(s) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(s[len(s)-12:]), 29)) * 0x9e3779b97f4a7c15
	at := &k.sets[hash>>(64-9)]
	if string(at.text[:len(s)]) == string(s) && (len(s) == len(at.text) || at.text[len(s)] == 0) {
		return at.key, nil
	}
	key, err := decodeKey(s)
	if err == nil {
		at.text, at.key = [44]byte{}, key
		copy(at.text[:], s)
	}
	return key, err
}
