package stream

import (
	"encoding/binary"
	"hash/maphash"
)

// repeatsKept is the least number of transactions that are remembered: about 80 seconds of mainnet,
// in 6 MB.
const repeatsKept = 1 << 17

// repeats recognizes transactions that came before. The topic has some of them twice: a provider
// repeats blocks after a reconnect, and two ingest processes write the same transactions for a
// moment when one takes over from the other. Only one goroutine may use it.
//
// It keeps hashes in two sets. When young has repeatsKept hashes, it becomes older, and the set
// that was older is dropped.
type repeats struct {
	seed         maphash.Seed
	young, older map[uint64]struct{}
}

func newRepeats() *repeats {
	return &repeats{seed: maphash.MakeSeed(), young: make(map[uint64]struct{})}
}

// add returns whether the transaction came before in this slot, and remembers it. The same
// transaction in another slot, as after a fork, is a new one.
func (r *repeats) add(slot uint64, signature signature) bool {
	var place [len(signature) + 8]byte
	binary.LittleEndian.PutUint64(place[:], slot)
	copy(place[8:], signature[:])
	return r.addHash(maphash.Bytes(r.seed, place[:]))
}

// addOf is add for the bank with that serial number. The same transaction with another result or at
// another index is a new one.
func (r *repeats) addOf(bank uint64, t *transaction) bool { return r.addHash(r.hashOf(bank, t)) }

// hasOf returns whether the transaction came before in a bank.
func (r *repeats) hasOf(bank uint64, t *transaction) bool { return r.has(r.hashOf(bank, t)) }

func (r *repeats) hashOf(bank uint64, t *transaction) uint64 {
	var place [len(signature{}) + 17]byte
	binary.LittleEndian.PutUint64(place[:], bank)
	binary.LittleEndian.PutUint64(place[8:], t.index)
	if t.failed {
		place[16] = 1
	}
	copy(place[17:], t.signature[:])
	return maphash.Bytes(r.seed, place[:])
}

func (r *repeats) has(hash uint64) bool {
	if _, ok := r.young[hash]; ok {
		return true
	}
	_, ok := r.older[hash]
	return ok
}

func (r *repeats) addHash(hash uint64) bool {
	if r.has(hash) {
		return true
	}
	if len(r.young) >= repeatsKept {
		r.young, r.older = make(map[uint64]struct{}, repeatsKept), r.young
	}
	r.young[hash] = struct{}{}
	return false
}
