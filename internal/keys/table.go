package keys

import (
	"crypto/subtle"
	"encoding/binary"
)

// Found is what a store has under a hash, with what every request looks at beside it, so that most
// requests look at nothing else.
type Found struct {
	Hash Hash
	Key  *Key
	// endsAt is when the secret stops to work, Unix milliseconds: the end of its grace, or of the
	// key; 0: never.
	endsAt int64
	// product is Key.Product, as productNumber has it.
	product uint8
	// plain says that the key is not revoked and has no rule on origin or address.
	plain bool
	// removed marks the place of an entry that is gone, so that what was put behind it is found.
	removed bool
	// 64 bytes fill a cache line: a look-up waits for one and not for two.
	_ [8]byte
}

// table finds secrets by their hash: an open-addressing hash table with the entries in its slots. A
// look-up waits for memory once. With Go's map, whose values lie elsewhere, it waited twice or
// more, and a check took over four times a SHA-256 with 100,000 keys.
//
// A look-up compares whole hashes in constant time. A miss compares with what lies in the slot, so
// that it touches memory as a hit does, and takes as long. The hashes are SHA-256: their bits need
// no further mixing.
type table struct {
	// slots are a power of two, and at most half of them are used.
	slots []Found
	used  int // removed ones included
}

func newTable() *table { return &table{slots: make([]Found, 16)} }

// slotOf is where the search for a hash begins.
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

// put adds the entry, or takes the place of the one with its hash.
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

// grow doubles the slots, and leaves out what was removed.
func (t *table) grow() {
	old := t.slots
	t.slots, t.used = make([]Found, 2*len(old)), 0
	for _, entry := range old {
		if entry.Key != nil {
			t.put(entry)
		}
	}
}

// remove forgets an entry. It is seldom: a key forgets only secrets that ended long ago.
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

// productNumber is 1 and more for the products, 0 for none of them.
func productNumber(product Product) uint8 {
	for i, p := range Products() {
		if p == product {
			return uint8(i + 1)
		}
	}
	return 0
}

// foundOf is the entry of a key's secret.
func foundOf(k *Key, s Secret) Found {
	f := Found{Hash: s.Hash, Key: k, endsAt: k.expires, product: productNumber(k.Product), plain: !k.revoked && !k.unknown && len(k.compiled.origins) == 0 && len(k.compiled.addresses) == 0}
	if !s.EndsAt.IsZero() {
		if ends := s.EndsAt.UnixMilli(); f.endsAt == 0 || ends < f.endsAt {
			f.endsAt = ends
		}
	}
	return f
}
