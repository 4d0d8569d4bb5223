package search

import (
	"math/bits"
	"slices"
)

// findContaining finds the terms that contain the text. It intersects the posting lists of the
// grams that the text requires. Where a common term is no proof (see forks.go), it compares the
// term's text.
func (c *candidates) findContaining() {
	if len(c.plan.required) == 0 {
		c.readBlocks()
		return
	}
	lists := make([]postingList, 0, 32)
	for _, g := range c.plan.required {
		list := c.segment.postingList(g)
		if len(list.terms) == 0 {
			return
		}
		lists = append(lists, list)
	}
	slices.SortFunc(lists, func(a, b postingList) int { return len(a.terms) - len(b.terms) })
	if c.plan.isProof {
		for _, fork := range c.plan.innerForks {
			for _, t := range c.segment.postingList(fork).terms {
				c.unsure.add(t)
			}
		}
	}
	if lists[0].bitmap != nil { // so have the others, which are longer
		c.intersectBitmaps(lists)
	} else {
		c.intersect(lists)
	}
	text := newPattern(c.plan.text)
	for _, t := range c.terms {
		if text.isIn(c.segment.text, c.segment.ends[t], c.segment.ends[int(t)+1]) {
			c.addContaining(t)
		}
	}
	c.unsure.clear()
}

// intersect finds the terms that are in all lists, of which the first is the shortest. It adds
// those that are proved to contain the text, and leaves the others in c.terms.
func (c *candidates) intersect(lists []postingList) {
	c.terms = append(c.terms[:0], lists[0].terms...)
	both := c.terms
	for i := range lists[1:] {
		list := &lists[i+1]
		kept, rest := both[:0], list.terms
		for _, t := range both {
			if list.bitmap == nil {
				rest = advance(rest, t)
			}
			if list.bitmap != nil && hasBit(list.bitmap, t) || list.bitmap == nil && len(rest) > 0 && rest[0] == t {
				kept = append(kept, t)
			}
		}
		both = kept
	}
	unread := both[:0]
	for _, t := range both {
		switch {
		case !c.isScored && c.matching.has(t): // it is counted already
		case c.plan.isProof && !c.unsure.has(t):
			c.addContaining(t)
		default:
			unread = append(unread, t)
		}
	}
	c.terms = unread
}

// intersectBitmaps is intersect for lists that all have bitmaps.
func (c *candidates) intersectBitmaps(lists []postingList) {
	c.terms = c.terms[:0]
	for at, both := range lists[0].bitmap {
		for i := range lists[1:] {
			both &= lists[i+1].bitmap[at]
		}
		if !c.isScored {
			both &^= c.matching.words[at]
		}
		unread := both
		if c.plan.isProof {
			unread &= c.unsure.words[at]
			c.addAllContaining(at, both&^unread)
		}
		for ; unread != 0; unread &= unread - 1 {
			c.terms = append(c.terms, uint32(at*64+bits.TrailingZeros64(unread)))
		}
	}
}

// addAllContaining adds the terms 64*at+i for each bit i of terms. All contain the text.
func (c *candidates) addAllContaining(at int, terms uint64) {
	if c.isScored {
		for left := terms &^ c.matching.words[at]; left != 0; left &= left - 1 {
			c.shared[at*64+bits.TrailingZeros64(left)] = 0
		}
		c.containing.addWord(at, terms)
	}
	c.matching.addWord(at, terms)
}
