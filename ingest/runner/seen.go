package runner

import (
	"math"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// introduced is a mint that the log introduces; timed says whether with a block's time.
type introduced struct {
	key   pubkey.Key
	timed bool
}

// seenAt is the slot to remember of a mint that a block shows. A block without a time does not say
// when the mint was first seen: a mint that only such blocks have shown counts as seen at the
// highest slot there can be, so that the next block with a time introduces it once more.
func seenAt(slot uint64, timed bool) uint64 {
	if !timed {
		return math.MaxUint64
	}
	return slot
}

// seenMints remembers mints and the lowest slot each was seen at, up to a bound. It holds two
// generations: when the younger one has half the bound, it becomes the older one and the older one
// is forgotten; a mint that is asked for moves to the younger. So what is in use stays, without a
// list to keep.
//
// Keys are the first 16 bytes of a mint: two mints that share them cannot be found.
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

// add remembers the mint and says whether that is news: it is new, or was seen at higher slots
// only, as when a gap is filled behind the stream.
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
