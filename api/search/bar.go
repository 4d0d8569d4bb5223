package search

import "math"

// Hundreds of thousands of texts can be similar to a query, of which a page shows a few tokens. So most are only counted, with bits: a text whose similarity
// is below the bar is not written down. The bar rises as soon as there are several times as many texts above it as tokens are wanted.

const (
	// barSteps are those of the bar from 0 to 1. A similarity is compared with a step in whole numbers, and so exactly.
	barSteps = 256
	// barRoom is how many times as many texts as tokens must be above the bar: some have no live token, others those of better tiers.
	barRoom = 4
)

// bar is how similar a text of the view at hand must be.
type bar struct {
	level  int // in steps
	enough int // so many texts above it let it rise
	kept   int // texts that were above it
	counts [barSteps + 1]int
}

// setBar begins with what the worst token that would do has.
func (s *searcher) setBar() {
	s.bar = bar{enough: s.top.k * s.index.barRoom}
	if s.top.full() && s.top.k > 0 {
		s.bar.level = int(s.top.found[0].score * barSteps)
	}
}

// take is false for a text below the bar: one that shares so many trigrams of all that it and the query have.
func (b *bar) take(shared, all int) bool {
	if shared*barSteps < b.level*all {
		return false
	}
	b.counts[shared*barSteps/all]++
	b.kept++
	for b.kept-b.counts[b.level] >= b.enough && b.level < barSteps {
		b.kept -= b.counts[b.level]
		b.level++
	}
	return true
}

// need is how many trigrams a text must share that has so many together with the query, shared ones counted twice.
func (b *bar) need(both int) int {
	return (b.level*both + barSteps + b.level - 1) / (barSteps + b.level)
}

// below is not less than the similarity of any text that is not written down.
func (b *bar) below() float64 {
	return math.Nextafter(max(MinSimilarity, float64(b.level)/barSteps), 0)
}

// holds says that no token with texts below the bar is among the best.
func (b *bar) holds(t *top) bool {
	if b.level == 0 || t.k == 0 {
		return true
	}
	return t.full() && (t.found[0].tier < TierSimilar || t.found[0].score >= float64(b.level)/barSteps)
}

// lower lets all pass.
func (b *bar) lower() { *b = bar{enough: math.MaxInt} }
