package search

import "math"

// Hundreds of thousands of texts can be similar to a query, of which a page shows a few tokens. So
// most are only counted, with bits: a text whose similarity is below the cutoff is not written
// down. The cutoff rises as soon as there are several times as many texts above it as tokens are
// wanted.

const (
	// cutoffSteps are those of the cutoff from 0 to 1. A similarity is compared with a step in
	// whole numbers, and so exactly.
	cutoffSteps = 256
	// cutoffReserve is how many times as many texts as tokens must be above the cutoff: some have
	// no live token, others those of better tiers.
	cutoffReserve = 4
)

// cutoff is the similarity that a text of the current segment must have to be written down.
type cutoff struct {
	level  int // in steps
	enough int // so many texts above it let it rise
	kept   int // texts that were above it
	counts [cutoffSteps + 1]int
}

// setCutoff begins with the similarity of the worst token on a full page.
func (s *searcher) setCutoff() {
	s.cutoff = cutoff{enough: s.top.k * s.index.cutoffReserve}
	if s.top.full() && s.top.k > 0 {
		s.cutoff.level = int(s.top.found[0].score * cutoffSteps)
	}
}

// take reports whether a text reaches the cutoff, and counts it. shared is how many trigrams the
// text shares with the query, all how many different ones both have.
func (b *cutoff) take(shared, all int) bool {
	if shared*cutoffSteps < b.level*all {
		return false
	}
	b.counts[shared*cutoffSteps/all]++
	b.kept++
	for b.kept-b.counts[b.level] >= b.enough && b.level < cutoffSteps {
		b.kept -= b.counts[b.level]
		b.level++
	}
	return true
}

// need returns how many trigrams a text must share to reach the cutoff. both is the number of the
// text's trigrams plus the number of the query's.
func (b *cutoff) need(both int) int {
	return (b.level*both + cutoffSteps + b.level - 1) / (cutoffSteps + b.level)
}

// below returns an upper bound of the similarity of all texts that were not written down.
func (b *cutoff) below() float64 {
	return math.Nextafter(max(MinSimilarity, float64(b.level)/cutoffSteps), 0)
}

// holds reports whether the page is final: no token with a text below the cutoff belongs on it.
func (b *cutoff) holds(t *top) bool {
	if b.level == 0 || t.k == 0 {
		return true
	}
	return t.full() && (t.found[0].tier < TierSimilar || t.found[0].score >= float64(b.level)/cutoffSteps)
}

// lower sets the cutoff to 0, so that all texts are written down.
func (b *cutoff) lower() { *b = cutoff{enough: math.MaxInt} }
