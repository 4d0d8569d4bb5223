package search

import (
	"bytes"
	"math/bits"
)

// offerFuzzy offers, for TierSubstring and TierSimilar, the documents of a segment that have one of
// its candidates (the terms that match) as symbol or name. The documents of the better tiers must
// have been offered before: what would be ranked below a full page is not looked at.
func (r *ranking) offerFuzzy(c *candidates) {
	for t := range c.containing.all() {
		r.offerContaining(c, t)
	}
	if !r.top.mayEnter(TierSimilar, 1, 0) {
		return
	}
	for at := range usedWords(&c.matching, &c.edited) {
		for word := (c.matching.words[at] | c.edited.words[at]) &^ c.containing.words[at]; word != 0; word &= word - 1 {
			r.offerSimilar(c, uint32(at*64+bits.TrailingZeros64(word)))
		}
	}
}

// offerContaining offers the documents that have a term which contains the text: as symbol, or as
// name if the symbol does not contain it. If the term begins with the text, it offers nothing: such
// documents are of a better tier.
func (r *ranking) offerContaining(c *candidates, t uint32) {
	s, prefix := c.segment, []byte(r.plan.text)
	if bytes.HasPrefix(s.term(t), prefix) {
		return
	}
	most := c.mostSimilar(t)
	from, to := s.docsOfSymbol(t)
	r.plan.filter.eachDocument(s, from, to, func(doc uint32) {
		name := s.names[doc]
		if r.top.mayEnter(TierSubstring, max(most, c.mostSimilar(name)), s.key(doc)) && !bytes.HasPrefix(s.term(name), prefix) {
			r.offerSubstring(c, doc, t, name)
		}
	})
	from, to = s.docsOfName(t)
	for i := from; i < to; i++ {
		symbol, doc := s.nameSymbols[i], s.nameDocs[i]
		if !c.containing.has(symbol) && r.top.mayEnter(TierSubstring, max(most, c.mostSimilar(symbol)), 0) && r.plan.filter.wants(s, doc) {
			r.offerSubstring(c, doc, symbol, t)
		}
	}
}

// offerSubstring offers a document with the score of the more similar one of its terms.
func (r *ranking) offerSubstring(c *candidates, doc, symbol, name uint32) {
	if r.isExact(c.segment, doc) {
		return
	}
	e := entry{segment: c.segment, doc: doc, tier: TierSubstring, field: FieldSymbol, key: c.segment.key(doc), score: c.similarity(symbol)}
	if other := c.similarity(name); other > e.score {
		e.field, e.score = FieldName, other
	}
	r.top.offer(e)
}

// offerSimilar offers the documents that have a similar term, but none that contains the text. A
// document is offered for the better one of its terms, for the symbol if they are equal.
func (r *ranking) offerSimilar(c *candidates, t uint32) {
	s := c.segment
	e := entry{segment: s, tier: TierSimilar, field: FieldSymbol, score: c.symbolScore(t)}
	if r.top.mayEnter(e.tier, e.score, 0) {
		from, to := s.docsOfSymbol(t)
		r.eachPromising(s, from, to, e.tier, e.score, func(doc uint32, key uint64) {
			if name := s.names[doc]; !c.containing.has(name) && c.nameScore(name) <= e.score {
				e.doc, e.key = doc, key
				r.top.offer(e)
			}
		})
	}
	e.field, e.score = FieldName, c.nameScore(t)
	if e.score == 0 || !r.top.mayEnter(e.tier, e.score, 0) {
		return
	}
	from, to := s.docsOfName(t)
	for i := from; i < to; i++ {
		e.doc = s.nameDocs[i]
		if symbol := s.nameSymbols[i]; c.containing.has(symbol) || c.symbolScore(symbol) >= e.score || !r.plan.filter.wants(s, e.doc) {
			continue
		}
		if e.key = s.key(e.doc); r.top.mayEnter(e.tier, e.score, e.key) && !r.isExact(s, e.doc) {
			r.top.offer(e)
		}
	}
}

// nameScore returns the similarity of a term that is similar. It is 0 for all other terms, also for
// those that contain the text.
func (c *candidates) nameScore(t uint32) float64 {
	if !c.matching.has(t) {
		return 0
	}
	return c.scoreOf(t, int(c.shared[t]))
}

// symbolScore returns the score of a term as symbol: nameScore, or typoScore if that is higher.
func (c *candidates) symbolScore(t uint32) float64 {
	best := c.nameScore(t)
	if c.edited.has(t) {
		best = max(best, c.plan.typoScore(string(c.segment.term(t))))
	}
	return best
}

// similarity returns the similarity of any term.
func (c *candidates) similarity(t uint32) float64 {
	if known := c.nameScore(t); known > 0 {
		return known
	}
	shared := 0
	if c.allShared {
		shared = int(c.sliced[t/64].of(int(t % 64)))
	} else {
		for i := range c.lists {
			if c.lists[i].has(t) {
				shared++
			}
		}
	}
	return c.scoreOf(t, shared)
}

// mostSimilar returns an upper bound of the similarity of any term, without counting. A term that
// is not known to be similar is below MinSimilarity.
func (c *candidates) mostSimilar(t uint32) float64 {
	if known := c.nameScore(t); known > 0 {
		return known
	}
	if c.allShared {
		return c.similarity(t)
	}
	return MinSimilarity
}

// scoreOf returns the similarity of a term that shares so many grams with the text.
func (c *candidates) scoreOf(t uint32, shared int) float64 {
	return score(shared, len(c.plan.grams), int(c.segment.gramCounts[t]))
}
