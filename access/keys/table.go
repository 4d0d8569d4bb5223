package keys

import (
	"crypto/subtle"
	"encoding/binary"
	"slices"
)

// Found is what a store returns for a hash: the secret's key, and copies of what every request
// checks, so that most requests need not read the key. It is small enough to be returned in
// registers.
type Found struct {
	Key *Key
	// endsAt is when the secret stops working, in Unix milliseconds: at the end of its grace
	// period, or of the key. 0: never.
	endsAt int64
	// product is productNumber(Key.Product).
	product uint8
	// plain is true if the key is not revoked and has no rule on origin or address, and none that
	// this version cannot enforce.
	plain bool
}

// cell is a place for a secret in a table. It has 64 bytes, one cache line: a look-up then waits
// for one and not for two.
type cell struct {
	hash Hash
	Found
	// removed marks the cell of a secret that was removed (a tombstone). A search goes on past it.
	removed bool
}

func (c *cell) empty() bool { return c.Key == nil && !c.removed }

// table is an open-addressing hash table of secrets by their hash. The secrets are in its cells, so
// a look-up waits for memory once. With Go's map, whose values lie elsewhere, a look-up waited
// twice or more: among 100,000 keys a check took over four times as long as a SHA-256.
//
// A look-up compares whole hashes in constant time. A miss also compares with what is in the cell,
// so a miss takes as long as a hit. The hashes are SHA-256: their bits need no further mixing.
type table struct {
	// The number of cells is a power of two, and at most half of them are used.
	cells []cell
	used  int // removed ones included
}

func newTable() *table { return &table{cells: make([]cell, 16)} }

// start returns the cell, before the modulo, where the search for a hash begins.
func start(hash *Hash) uint64 { return binary.BigEndian.Uint64(hash[:8]) }

func (t *table) at(i uint64) *cell { return &t.cells[i&uint64(len(t.cells)-1)] }

// find returns what is stored for a hash.
func (t *table) find(hash *Hash) (Found, bool) {
	for i := start(hash); ; i++ {
		c := t.at(i)
		equal := subtle.ConstantTimeCompare(hash[:], c.hash[:]) == 1
		if c.empty() {
			return Found{}, false
		}
		if equal && !c.removed {
			return c.Found, true
		}
	}
}

// put stores found for a hash, in place of what was stored for it before.
func (t *table) put(hash Hash, found Found) {
	for i := start(&hash); ; i++ {
		c := t.at(i)
		if c.hash == hash && !c.empty() {
			*c = cell{hash: hash, Found: found}
			return
		}
		if c.empty() {
			*c = cell{hash: hash, Found: found}
			break
		}
	}
	if t.used++; 2*t.used > len(t.cells) {
		t.grow()
	}
}

// grow doubles the number of cells, and drops the removed ones.
func (t *table) grow() {
	old := t.cells
	t.cells, t.used = make([]cell, 2*len(old)), 0
	for i := range old {
		if c := &old[i]; c.Key != nil {
			t.put(c.hash, c.Found)
		}
	}
}

// remove removes a hash. That is rare: only a key with more than maxSecrets secrets forgets some.
func (t *table) remove(hash *Hash) {
	for i := start(hash); ; i++ {
		c := t.at(i)
		if c.empty() {
			return
		}
		if c.hash == *hash {
			*c = cell{hash: *hash, removed: true}
			return
		}
	}
}

// productNumber returns a number from 1 for each product, and 0 for anything else.
func productNumber(product Product) uint8 {
	return uint8(slices.Index(Products(), product) + 1)
}

// foundOf returns what a table stores for a key's secret.
func foundOf(k *Key, s Secret) Found {
	f := Found{Key: k, endsAt: k.expires, product: productNumber(k.Product), plain: !k.revoked && !k.unknown && len(k.compiled.origins) == 0 && len(k.compiled.addresses) == 0}
	if !s.EndsAt.IsZero() {
		if ends := s.EndsAt.UnixMilli(); f.endsAt == 0 || ends < f.endsAt {
			f.endsAt = ends
		}
	}
	return f
}
