package runner

import (
	"hash/maphash"
	"math"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// introduced is a mint that an event in the log introduces. timed means that the event has a block
// time.
type introduced struct {
	key   pubkey.Key
	timed bool
}

// seenAt returns the slot to remember for a mint that a block shows. A block without a time does
// not tell when the mint was first seen. So such a mint counts as seen at the highest possible
// slot, and the next block with a time introduces it once more.
func seenAt(slot uint64, timed bool) uint64 {
	if !timed {
		return math.MaxUint64
	}
	return slot
}

// seenMints remembers mints and the lowest slot at which each was seen, up to a bound. It is an
// approximate LRU of two generations. When the young one has reached half the bound, it becomes the
// older one, and the previous older one is forgotten. add moves a mint into the young generation,
// so mints in use stay.
type seenMints struct {
	half         int
	seed         maphash.Seed
	young, older *slotTable
}

func newSeenMints(limit int) *seenMints {
	return &seenMints{half: max(limit/2, 1), seed: maphash.MakeSeed(), young: &slotTable{}, older: &slotTable{}}
}

func (s *seenMints) has(mint pubkey.Key) bool {
	k := maphash.Bytes(s.seed, mint[:])
	if _, ok := s.young.get(k); ok {
		return true
	}
	_, ok := s.older.get(k)
	return ok
}

// add remembers the mint. It returns true if the mint is new, or was seen only at higher slots
// before, which happens when a gap is filled later.
func (s *seenMints) add(mint pubkey.Key, slot uint64) bool {
	k, at := maphash.Bytes(s.seed, mint[:]), uint32(min(slot, math.MaxUint32))
	lowest, known := s.young.get(k)
	if !known {
		lowest, known = s.older.get(k)
		if s.young.size >= s.half {
			s.young, s.older = &slotTable{}, s.young
		}
	}
	news := !known || at < lowest
	if news {
		lowest = at
	}
	s.young.put(k, lowest)
	return news
}

// slotTable maps hashes of mints to slots. An entry takes 16 to 24 bytes, half of what a Go map of
// the mints takes. Among 30 million mints, the chance that two have the same hash is one in 40,000.
// Then the later one is not sighted until the next start. Nobody can search for such a pair,
// because each process has its own random seed.
//
// Slots above 2^32 - 1, which the chain reaches in 2050, are remembered as 2^32 - 1.
type slotTable struct {
	// shards are indexed by the hash's lowest byte. Only one shard grows at a time, so growing
	// takes little extra memory.
	shards [256]slotShard
	size   int
}

// slotShard is a hash table with open addressing. An empty place has the hash 0. A mint with the
// hash 0 is stored under 1.
type slotShard struct {
	hashes []uint64
	slots  []uint32
	used   int
}

func (t *slotTable) get(hash uint64) (slot uint32, ok bool) {
	shard := &t.shards[byte(hash)]
	if shard.used == 0 {
		return 0, false
	}
	at := shard.place(hash)
	return shard.slots[at], shard.hashes[at] != 0
}

func (t *slotTable) put(hash uint64, slot uint32) {
	shard := &t.shards[byte(hash)]
	if shard.used*4 >= len(shard.hashes)*3 {
		shard.grow()
	}
	at := shard.place(hash)
	if shard.hashes[at] == 0 {
		shard.hashes[at] = max(hash, 1)
		shard.used++
		t.size++
	}
	shard.slots[at] = slot
}

// place returns where the hash is, or else the empty place for it.
func (s *slotShard) place(hash uint64) int {
	hash = max(hash, 1)
	// The highest 32 bits, scaled to the size of the table.
	at := int((hash >> 32) * uint64(len(s.hashes)) >> 32)
	for s.hashes[at] != 0 && s.hashes[at] != hash {
		if at++; at == len(s.hashes) {
			at = 0
		}
	}
	return at
}

// grow makes the table half as large again.
func (s *slotShard) grow() {
	old := *s
	size := max(len(old.hashes)*3/2, 16)
	s.hashes, s.slots = make([]uint64, size), make([]uint32, size)
	for i, hash := range old.hashes {
		if hash != 0 {
			at := s.place(hash)
			s.hashes[at], s.slots[at] = hash, old.slots[i]
		}
	}
}
