package stream

import (
	"encoding/binary"
	"hash/maphash"
)

// repeatsKept is how many transactions are remembered at least: about 80 seconds of mainnet, in 6
// MB.
const repeatsKept = 1 << 17

// repeats finds transactions that came before. The topic has some twice: a provider repeats blocks
// after a reconnect, and two ingest processes write the same for a moment when one takes over from
// the other. It is for one goroutine.
//
// It holds hashes in two generations: when the younger one is full it becomes the older one, and
// the older one is forgotten.
type repeats struct {
	seed         maphash.Seed
	young, older map[uint64]struct{}
}

func newRepeats() *repeats {
	return &repeats{seed: maphash.MakeSeed(), young: make(map[uint64]struct{})}
}

// add says whether the transaction came before in this slot. In another slot, as after a fork, it
// is another one.
func (r *repeats) add(slot uint64, signature signature) bool {
	var place [len(signature) + 8]byte
	binary.LittleEndian.PutUint64(place[copy(place[:], signature[:]):], slot)
	hash := maphash.Bytes(r.seed, place[:])
	if _, ok := r.young[hash]; ok {
		return true
	}
	if _, ok := r.older[hash]; ok {
		return true
	}
	if len(r.young) >= repeatsKept {
		r.young, r.older = make(map[uint64]struct{}, repeatsKept), r.young
	}
	r.young[hash] = struct{}{}
	return false
}
