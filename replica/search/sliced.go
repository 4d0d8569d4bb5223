package search

import "math/bits"

const (
	// sliceBits is how many binary digits a count has.
	sliceBits = 5
	// maxSliced is the largest count.
	maxSliced = 1<<sliceBits - 1
)

// slicedCount has 64 counts: in how many lists each of 64 terms is. It is bit-sliced: word i has
// the digit of weight 2^i of all 64 counts, so that a bitmap is added to all of them at once.
type slicedCount [sliceBits]uint64

// isSlicedFaster returns whether counting a band with bitmaps is faster than going through that
// many postings, each of which is visited twice.
func (c *candidates) isSlicedFaster(postings int, from, to uint32) bool {
	if len(c.lists) > maxSliced {
		return false
	}
	words, bitmaps, others := int(to-from)/64, 0, 0
	for i := range c.lists {
		if c.lists[i].bitmap != nil {
			bitmaps++
		} else {
			others += len(c.parts[i]) // a list without a bitmap is never skipped
		}
	}
	return 2*postings > words*bitmaps+2*others
}

// countSliced finds the terms in [from, to) that are in at least need of the lists. For lists
// without a bitmap, c.parts must have their terms of that range.
func (c *candidates) countSliced(from, to uint32, need int) {
	counts := c.slice(from, to)
	for i := range counts {
		at := int(from/64) + i
		found := counts[i].atLeast(need)
		if i == 0 {
			found &= ^uint64(0) << (from % 64)
		}
		if left := int(to) - at*64; left < 64 {
			found &= 1<<left - 1
		}
		c.matching.addWord(at, found)
		if !c.isScored {
			continue
		}
		for ; found != 0; found &= found - 1 {
			bit := bits.TrailingZeros64(found)
			c.shared[at*64+bit] = counts[i].of(bit)
		}
	}
}

// slice counts in how many of the lists each term in [from, to) is. The result begins and ends at
// multiples of 64.
func (c *candidates) slice(from, to uint32) []slicedCount {
	first := from / 64
	words := int((to+63)/64 - first)
	if words > cap(c.sliced) {
		c.sliced = make([]slicedCount, words)
	}
	counts := c.sliced[:words]
	for i := range counts {
		counts[i] = sumBitmaps(c.lists, int(first)+i)
	}
	for i := range c.lists {
		if c.lists[i].bitmap == nil {
			for _, t := range c.parts[i] {
				counts[t/64-first].increment(1 << (t % 64))
			}
		}
	}
	return counts
}

// shareAll counts how many grams each term shares with the text. It returns false if there are too
// many lists.
func (c *candidates) shareAll() bool {
	if len(c.lists) > maxSliced {
		return false
	}
	c.parts = c.parts[:0]
	for i := range c.lists {
		c.parts = append(c.parts, c.lists[i].terms)
	}
	c.slice(0, uint32(c.segment.terms()))
	return true
}

// sumBitmaps counts in how many of the lists with bitmaps each of the 64 terms from 64*at on is. c0
// to c4 are the digits of the 64 counts, to which it adds two lists at a time.
func sumBitmaps(lists []postingList, at int) slicedCount {
	c0, c1, c2, c3, c4 := uint64(0), uint64(0), uint64(0), uint64(0), uint64(0)
	word := func(i int) uint64 {
		if i < len(lists) && lists[i].bitmap != nil {
			return lists[i].bitmap[at]
		}
		return 0
	}
	for i := 0; i < len(lists); i += 2 {
		a, b := word(i), word(i+1)
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
	return slicedCount{c0, c1, c2, c3, c4}
}

// increment adds one to the counts of some of the terms.
func (s *slicedCount) increment(terms uint64) {
	for i := 0; terms != 0; i++ {
		s[i], terms = s[i]^terms, s[i]&terms
	}
}

// of returns the count of one term.
func (s *slicedCount) of(bit int) (count uint16) {
	for i := range s {
		count |= uint16(s[i]>>bit&1) << i
	}
	return count
}

// atLeast returns the terms whose count is need or more. need must be positive.
func (s *slicedCount) atLeast(need int) uint64 {
	more, equal := uint64(0), ^uint64(0) // than need-1, by the digits so far
	for i := sliceBits - 1; i >= 0; i-- {
		if (need-1)>>i&1 == 0 {
			more |= equal & s[i]
			equal &^= s[i]
		} else {
			equal &= s[i]
		}
	}
	return more
}
