package keys

import (
	"crypto/subtle"
	"time"
)

// Found is what a store returns for a hash: the key that has a secret with it.
type Found struct {
	Key *Key
	// hash and endsAt are those of the secret.
	hash   Hash
	endsAt time.Time
}

// secrets are the secrets of all keys by their hash.
type secrets map[Hash]Found

// put stores a key's secrets, in place of what was stored for their hashes before.
func (s secrets) put(key *Key) {
	for _, secret := range key.Secrets {
		s[secret.Hash] = Found{Key: key, hash: secret.Hash, endsAt: secret.EndsAt}
	}
}

// find returns what is stored for a hash. It compares hashes in constant time, also if nothing is
// stored. The look-up in the map may take more or less time, but that tells only about hashes,
// which reveal no key.
func (s secrets) find(hash Hash) (Found, bool) {
	found := s[hash]
	equal := subtle.ConstantTimeCompare(hash[:], found.hash[:]) == 1
	return found, equal && found.Key != nil
}
