package state

import (
	"hash/maphash"
	"maps"
)

// shards is how many maps a table has. A change copies the map that has the key, and the array of
// pointers to all maps.
const shards = 1024

// table is a copy-on-write map: a changed copy shares all shards but those of the changed keys.
// Readers need no lock.
type table[K comparable, V any] struct {
	shards [shards]map[K]*V
}

var seed = maphash.MakeSeed()

// get returns a key's value; nil if there is none.
func (t *table[K, V]) get(key K) *V {
	return t.shards[maphash.Comparable(seed, key)%shards][key]
}

// with returns a copy with other values for some keys; nil removes a key.
func (t *table[K, V]) with(changes map[K]*V) *table[K, V] {
	if len(changes) == 0 {
		return t
	}
	next, copied := *t, map[uint64]bool{}
	for key, value := range changes {
		i := maphash.Comparable(seed, key) % shards
		if value == nil && next.shards[i][key] == nil {
			continue
		}
		if !copied[i] {
			copied[i] = true
			if next.shards[i] = maps.Clone(next.shards[i]); next.shards[i] == nil {
				next.shards[i] = map[K]*V{}
			}
		}
		if value == nil {
			delete(next.shards[i], key)
		} else {
			next.shards[i][key] = value
		}
	}
	return &next
}
