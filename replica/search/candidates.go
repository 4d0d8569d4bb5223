package search

// manyContaining is how many terms must contain the text for shareAll to be used: it counts in one
// pass how many grams each term of the segment shares with the text.
const manyContaining = 1024

// candidates are the second stage of a search: the terms of one segment that match a plan. They are
// reused, by one search at a time.
type candidates struct {
	plan    *plan
	segment *segment
	// isScored is true if the documents are ranked by the candidates, and not only counted.
	isScored bool

	// matching are the terms that contain the text or are similar to it. containing are those that
	// contain it. edited are the symbols one edit away. Without isScored, containing stays empty,
	// and edited has only terms that are not in matching.
	matching, containing, edited bitset
	// shared has, with isScored, how many grams a term of matching shares with the text; 0 if the
	// term contains the text and is not similar. For other terms it is undefined.
	shared []uint16
	// allShared is true if sliced has how many grams each term shares with the text.
	allShared bool

	// lists are the posting lists of the plan's grams in this segment, the shortest first.
	lists []postingList

	// Buffers.
	rest   [][]uint32 // what is not counted yet, of each of lists
	parts  [][]uint32 // what is being counted
	counts [windowTerms]uint16
	sliced []slicedCount
	terms  []uint32
	unsure bitset // terms that have a fork inside the text, see findContaining
}

// find finds the candidates of a segment.
func (c *candidates) find(p *plan, s *segment, isScored bool) {
	c.begin(p, s, isScored)
	c.findSimilar()
	c.findContaining()
	c.findEdited()
	c.allShared = isScored && c.containing.count() >= manyContaining && c.shareAll()
}

// begin prepares for the candidates of a segment.
func (c *candidates) begin(p *plan, s *segment, isScored bool) {
	c.plan, c.segment, c.isScored = p, s, isScored
	c.matching.grow(s.words())
	c.containing.grow(s.words())
	c.edited.grow(s.words())
	c.unsure.grow(s.words())
	if isScored && s.terms() > len(c.shared) {
		c.shared = make([]uint16, s.terms())
	}
}

// reset forgets the candidates and the segment.
func (c *candidates) reset() {
	c.matching.clear()
	c.containing.clear()
	c.edited.clear()
	c.plan, c.segment = nil, nil
	clear(c.lists[:cap(c.lists)])
	clear(c.rest[:cap(c.rest)])
	clear(c.parts[:cap(c.parts)])
}

// addSimilar adds a term that shares so many grams with the text.
func (c *candidates) addSimilar(t uint32, shared int) {
	c.matching.add(t)
	if c.isScored {
		c.shared[t] = uint16(min(shared, 1<<16-1))
	}
}

// addContaining adds a term that contains the text.
func (c *candidates) addContaining(t uint32) {
	if !c.isScored {
		c.matching.add(t)
		return
	}
	c.containing.add(t)
	if !c.matching.has(t) {
		c.matching.add(t)
		c.shared[t] = 0
	}
}
