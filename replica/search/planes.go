package search

import "math/bits"

// Where many texts have trigrams of the query, one by one is slow: 64 texts at once are counted
// with bitmaps, the counts of all of them lying in planes, one for each binary digit.

const (
	planes = 5
	// maxPlaned lists are counted at most: what the planes hold.
	maxPlaned = 1<<planes - 1
)

// countPlanes marks the texts from, to (exclusive) that are in at least need of the lists. All have
// bitmaps.
func (s *searcher) countPlanes(lists []list, from, to, need int) {
	for at := from / 64; at*64 < to; at++ {
		count := addPlanes(lists, at)
		found := atLeast(&count, need)
		if first := at * 64; first < from {
			found &= ^uint64(0) << (from - first)
		}
		if left := to - at*64; left < 64 {
			found &= 1<<left - 1
		}
		if s.marksOnly {
			s.marked.add(at, found)
			if !s.collect || found == 0 {
				continue
			}
			// The first of them has the fewest trigrams.
			first := max(from, at*64)
			if need := s.cutoff.need(len(s.grams) + int(s.view.gramCount[first])); need > maxPlaned {
				continue
			} else if need > 0 {
				found &= atLeast(&count, need)
			}
		}
		for ; found != 0; found &= found - 1 {
			bit := bits.TrailingZeros64(found)
			shared := 0
			for i := range count {
				shared |= int(count[i]>>bit&1) << i
			}
			s.markSimilar(uint32(at*64+bit), shared)
		}
	}
}

// addPlanes counts in how many of the lists each of 64 texts is, two lists at a time.
func addPlanes(lists []list, at int) (count [planes]uint64) {
	c0, c1, c2, c3, c4 := uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
	for i := 0; i < len(lists); i += 2 {
		a, b := lists[i].set[at], uint64(0)
		if i+1 < len(lists) {
			b = lists[i+1].set[at]
		}
		if a|b == 0 {
			continue
		}
		either := a ^ b
		carry := a&b | c0&either
		c0 ^= either
		c1, carry = c1^carry, c1&carry
		c2, carry = c2^carry, c2&carry
		c3, carry = c3^carry, c3&carry
		c4 ^= carry
	}
	return [planes]uint64{c0, c1, c2, c3, c4}
}

// atLeast are those of 64 counts that are need, which is positive, or more.
func atLeast(count *[planes]uint64, need int) uint64 {
	more, equal := uint64(0), ^uint64(0) // than need-1
	for i := planes - 1; i >= 0; i-- {
		if (need-1)>>i&1 == 0 {
			more |= equal & count[i]
			equal &^= count[i]
		} else {
			equal &= count[i]
		}
	}
	return more
}
