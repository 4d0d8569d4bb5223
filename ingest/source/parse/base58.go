package parse

import (
	"encoding/binary"
	"math/bits"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// decodeBase58 decodes base58 of any length, also empty. The work grows with the square of len(s),
// so callers must bound it.
func decodeBase58(s []byte) ([]byte, error) {
	if len(s) == 0 {
		return nil, nil
	}
	return base58.Decode(string(s))
}

// decodeKey decodes a 32-byte base58 key or hash.
func decodeKey(s []byte) (pubkey.Key, error) {
	key, err := pubkey.Parse(s)
	if err != nil {
		return key, malformed("%.60q is no 32-byte base58 key", s)
	}
	return key, nil
}

// decodeSignature decodes a 64-byte signature, which has at most 88 characters in base58.
func decodeSignature(s []byte) (sig chain.Signature, err error) {
	if len(s) <= 88 {
		if out, err := decodeBase58(s); err == nil && len(out) == len(sig) {
			return chain.Signature(out), nil
		}
	}
	return sig, malformed("%.100q is no 64-byte base58 signature", s)
}

const (
	// recentSets is how many keys are remembered at most.
	recentSets = 1 << recentBits
	recentBits = 9
	// recentAfter is how many keys are decoded before remembering them pays. A lone transaction has
	// fewer.
	recentAfter = 16
)

// recentKeys is a cache of keys by their base58 text, at most recentSets. The token balances of a
// block name the same mints, programs and owners again and again. A new key overwrites an old one
// with the same hash. The zero value is empty.
type recentKeys struct {
	asked int
	sets  *[recentSets]recentKey
}

// recentKey is one entry of the cache.
type recentKey struct {
	text [44]byte // padded with zeros, which base58 does not have
	key  pubkey.Key
}

// goldenRatio is 2^64 divided by the golden ratio: Knuth's multiplicative hash.
const goldenRatio = 0x9e3779b97f4a7c15

// key is decodeKey with the cache.
func (k *recentKeys) key(s []byte) (pubkey.Key, error) {
	if k.asked++; k.asked < recentAfter || len(s) < 32 || len(s) > len(recentKey{}.text) {
		return decodeKey(s)
	}
	if k.sets == nil {
		k.sets = new([recentSets]recentKey)
	}
	// The hash uses the first eight characters and eight of the last twelve, since vanity addresses
	// have one end in common.
	hash := (binary.LittleEndian.Uint64(s) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(s[len(s)-12:]), 29)) * goldenRatio
	at := &k.sets[hash>>(64-recentBits)]
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
