package keys

import (
	"crypto/subtle"
	"encoding/binary"
	"slices"
)

// Found is what a store returns for a hash: the secret's key, and copies of what every request
// checks, so that most requests need not read the key.
type Found struct {
	Hash Hash
	Key  *Key
	// endsAt is when the secret stops working, in Unix milliseconds: at the end of its grace
	// period, or of the key. 0: never.
	endsAt int64
	// product is productNumber(Key.Product).
	product uint8
	// plain is true if the key is not revoked and has no rule on origin or address, and none that
	// this version cannot enforce.
	plain bool
	// removed marks the slot of an entry that was removed (a tombstone). A search goes on past it.
	removed bool
	// Padding to 64 bytes, one cache line: a look-up then waits for one and not for two.
	_ [8]byte
}

// table is an open-addressing hash table of secrets by their hash. The entries are in its slots, so
// a look-up waits for memory once. With Go's map, whose values lie elsewhere, a look-up waited
// twice or more: among 100,000 keys a check took over four times as long as a SHA-256.
//
// A look-up compares whole hashes in constant time. A miss also compares with what is in the slot,
// so a miss takes as long as a hit. The hashes are SHA-256: their bits need no further mixing.
type table struct {
	// The number of slots is a power of two, and at most half of them are used.
	slots []Found
	used  int // removed ones included
}

func newTable() *table { return &table{slots: make([]Found, 16)} }

// slotOf returns the slot, before the modulo, where the search for a hash begins.
func (t *table) slotOf(hash *Hash) uint64 { return binary.BigEndian.Uint64(hash[:8]) }

func (t *table) at(i uint64) *Found { return &t.slots[i&uint64(len(t.slots)-1)] }

func (f *Found) empty() bool { return f.Key == nil && !f.removed }

// find returns the entry of a hash.
func (t *table) find(hash *Hash) (Found, bool) {
	for i := t.slotOf(hash); ; i++ {
		entry := t.at(i)
		equal := subtle.ConstantTimeCompare(hash[:], entry.Hash[:]) == 1
		if entry.empty() {
			return Found{}, false
		}
		if equal && !entry.removed {
			return *entry, true
		}
	}
}

// put adds the entry, or replaces the one with its hash.
func (t *table) put(entry Found) {
	for i := t.slotOf(&entry.Hash); ; i++ {
		slot := t.at(i)
		if slot.empty() {
			*slot = entry
			break
		}
		if slot.Hash == entry.Hash {
			*slot = entry
			return
		}
	}
	if t.used++; 2*t.used > len(t.slots) {
		t.grow()
	}
}

// grow doubles the number of slots, and drops the removed entries.
func (t *table) grow() {
	old := t.slots
	t.slots, t.used = make([]Found, 2*len(old)), 0
	for _, entry := range old {
		if entry.Key != nil {
			t.put(entry)
		}
	}
}

// remove removes an entry. That is rare: only a key with more than maxSecrets secrets forgets some.
func (t *table) remove(hash *Hash) {
	for i := t.slotOf(hash); ; i++ {
		slot := t.at(i)
		if slot.empty() {
			return
		}
		if slot.Hash == *hash {
			*slot = Found{Hash: *hash, removed: true}
			return
		}
	}
}

// productNumber returns a number from 1 for each product, and 0 for anything else.
func productNumber(product Product) uint8 {
	return uint8(slices.Index(Products(), product) + 1)
}

// foundOf makes the entry of a key's secret.
func foundOf(k *Key, s Secret) Found {
	f := Found{Hash: s.Hash, Key: k, endsAt: k.expires, product: productNumber(k.Product), plain: !k.revoked && !k.unknown && len(k.compiled.origins) == 0 && len(k.compiled.addresses) == 0}
	if !s.EndsAt.IsZero() {
		if ends := s.EndsAt.UnixMilli(); f.endsAt == 0 || ends < f.endsAt {
			f.endsAt = ends
		}
	}
	return f
}
