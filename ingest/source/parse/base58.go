package parse

import (
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
	// recentMost is how many keys are remembered at most.
	recentMost = 1024
	// recentAfter is how many keys are decoded before remembering them pays. A lone transaction has
	// fewer.
	recentAfter = 16
)

// recentKeys is a cache of keys by their base58 text, because the token balances of a block name
// the same mints, programs and owners again and again. At recentMost keys, it forgets all. The zero
// value is empty.
type recentKeys struct {
	asked int
	known map[string]pubkey.Key
}

// key returns what decodeKey returns, from the cache if possible.
func (k *recentKeys) key(s []byte) (pubkey.Key, error) {
	if known, ok := k.known[string(s)]; ok {
		return known, nil
	}
	key, err := decodeKey(s)
	if k.asked++; k.asked < recentAfter || err != nil {
		return key, err
	}
	if k.known == nil || len(k.known) == recentMost {
		k.known = make(map[string]pubkey.Key)
	}
	k.known[string(s)] = key
	return key, nil
}
