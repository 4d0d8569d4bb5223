package runner

import (
	"math"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// introduced is a mint that the log introduces. timed means that the event has a block time.
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
//
// A key is the first 16 bytes of a mint: nobody can find two mints that share them.
type seenMints struct {
	half         int
	young, older map[[16]byte]uint64
}

func newSeenMints(limit int) *seenMints {
	return &seenMints{half: max(limit/2, 1), young: make(map[[16]byte]uint64)}
}

func (s *seenMints) has(mint pubkey.Key) bool {
	k := [16]byte(mint[:16])
	if _, ok := s.young[k]; ok {
		return true
	}
	_, ok := s.older[k]
	return ok
}

// add remembers the mint. It returns true if the mint is new, or was seen only at higher slots
// before, which happens when a gap is filled later.
func (s *seenMints) add(mint pubkey.Key, slot uint64) bool {
	k := [16]byte(mint[:16])
	lowest, known := s.young[k]
	if !known {
		lowest, known = s.older[k]
		if len(s.young) >= s.half {
			s.young, s.older = make(map[[16]byte]uint64), s.young
		}
	}
	news := !known || slot < lowest
	if news {
		lowest = slot
	}
	s.young[k] = lowest
	return news
}
