package search

import "slices"

// findSimilar finds the terms whose similarity is at least MinSimilarity, band by band. Terms are
// in the order of how many grams they have, so the terms of a band are neighbours.
func (c *candidates) findSimilar() {
	c.lists = c.lists[:0]
	withBitmap := 0
	for _, g := range c.plan.grams {
		if list := c.segment.postingList(g); len(list.terms) > 0 {
			c.lists = append(c.lists, list)
			if list.bitmap != nil {
				withBitmap++
			}
		}
	}
	slices.SortFunc(c.lists, func(a, b postingList) int { return len(a.terms) - len(b.terms) })
	c.rest = c.rest[:0]
	for i := range c.lists {
		c.rest = append(c.rest, c.lists[i].terms)
	}
	for _, band := range c.plan.bands {
		from, to := c.segment.termsWith(band.from), c.segment.termsWith(band.to)
		if band.need > len(c.lists) {
			continue
		}
		for ; from < to; from += windowTerms {
			c.countWindow(uint32(from), uint32(min(from+windowTerms, to)), band.need, min(withBitmap, band.need-1))
		}
	}
}

// windowTerms is how many terms are counted in one pass: the counts fit into the inner caches of a
// core.
const windowTerms = 1 << 16

// countWindow finds the terms in [from, to) that are in at least need of the lists. skipped is how
// many of the longest lists it does not go through. They are fewer than need, so a term in need
// lists is in one of the others too. It counts in the others, and looks up what it finds in the
// bitmaps of the skipped lists.
func (c *candidates) countWindow(from, to uint32, need, skipped int) {
	longest := c.lists[len(c.lists)-skipped:]
	c.parts = c.parts[:0]
	postings := 0
	for i := range c.lists[:len(c.lists)-skipped] {
		c.rest[i] = advance(c.rest[i], from)
		part := before(c.rest[i], to)
		c.rest[i] = c.rest[i][len(part):]
		postings += len(part)
		c.parts = append(c.parts, part)
	}
	if c.isSlicedFaster(postings, from, to) {
		c.countSliced(from, to, need)
		return
	}
	c.terms = c.terms[:0]
	for _, part := range c.parts {
		for _, t := range part {
			count := &c.counts[(t-from)%windowTerms]
			*count++
			if int(*count) == need-skipped {
				c.terms = append(c.terms, t)
			}
		}
	}
	for _, t := range c.terms {
		shared := int(c.counts[t-from])
		for i := range longest {
			shared += int(longest[i].bitmap[t/64] >> (t % 64) & 1)
		}
		if shared >= need {
			c.addSimilar(t, shared)
		}
	}
	for _, part := range c.parts { // the next window begins with counts of 0
		for _, t := range part {
			c.counts[(t-from)%windowTerms] = 0
		}
	}
}

// advance returns the part of ascending terms from t on. It looks ahead in growing steps
// (exponential search), as t is mostly near.
func advance(terms []uint32, t uint32) []uint32 {
	step := 1
	for step < len(terms) && terms[step] < t {
		step *= 2
	}
	from := step / 2
	n, _ := slices.BinarySearch(terms[from:min(step+1, len(terms))], t)
	return terms[from+n:]
}

// before returns the part of ascending terms that is less than t.
func before(terms []uint32, t uint32) []uint32 { return terms[:len(terms)-len(advance(terms, t))] }
