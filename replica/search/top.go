package search

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// entry is a document that matches, with what it is ranked by.
type entry struct {
	class   uint64 // see top.class
	key     uint64
	segment *segment
	doc     uint32
	tier    Tier
	field   Field
	score   float64
}

// top keeps the best size documents of those offered. When it is full, it is a heap whose root is
// the worst one, which is the threshold for others.
type top struct {
	query   *Query
	size    int
	entries []entry
	// after is nil, or the entry after which the best documents are kept.
	after *entry
	// instead is nil, or called with each document that matches; then offer keeps none.
	instead func(e entry)
}

// class returns a number that orders tiers and, within a tier, scores; lower is better. Scores are
// from 0 to 1, and the bits of such floats ascend with them and are below 1<<62. Only the last two
// tiers have scores. In orders other than relevance the class is 0.
func (t *top) class(tier Tier, score float64) uint64 {
	if t.query.Sort != SortRelevance {
		return 0
	}
	if tier < TierSubstring {
		return uint64(tier)
	}
	return uint64(tier-TierSubstring+1)<<62 - math.Float64bits(score)
}

func (t *top) isFull() bool { return len(t.entries) >= t.size }

// mayEnter returns false when a document of this tier, score and key, or a worse one, is below the
// threshold.
func (t *top) mayEnter(tier Tier, score float64, key uint64) bool {
	if t.instead != nil {
		return true
	}
	if t.size == 0 || !t.isFull() {
		return t.size > 0
	}
	class, worst := t.class(tier, score), &t.entries[0]
	return class < worst.class || class == worst.class && key <= worst.key
}

// offer keeps an entry if it is among the best so far.
func (t *top) offer(e entry) {
	e.class = t.class(e.tier, e.score)
	switch {
	case t.instead != nil:
		t.instead(e)
	case t.size == 0, t.after != nil && t.compare(&e, t.after) <= 0:
	case len(t.entries) < t.size:
		t.entries = append(t.entries, e)
		if t.isFull() {
			heap.Init(t)
		}
	case t.compare(&e, &t.entries[0]) < 0:
		t.entries[0] = e
		heap.Fix(t, 0)
	}
}

// compare orders entries, best first. The order is total: no two documents have the same mint.
func (t *top) compare(a, b *entry) int {
	if c := cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.key, b.key)); c != 0 {
		return c
	}
	return compareDocuments(a.segment, a.doc, b.segment, b.doc, t.query.byOrderKey())
}

// sorted returns the entries, best first. The heap is destroyed.
func (t *top) sorted() []entry {
	slices.SortFunc(t.entries, func(a, b entry) int { return t.compare(&a, &b) })
	return t.entries
}

// Len implements heap.Interface.
func (t *top) Len() int { return len(t.entries) }

// Less implements heap.Interface: the worst comes first.
func (t *top) Less(i, j int) bool { return t.compare(&t.entries[i], &t.entries[j]) > 0 }

// Swap implements heap.Interface.
func (t *top) Swap(i, j int) { t.entries[i], t.entries[j] = t.entries[j], t.entries[i] }

// Push is not used: the heap never grows.
func (t *top) Push(any) {}

// Pop is not used: the heap never shrinks.
func (t *top) Pop() any { return nil }

// key returns the number that orders documents of one class, lower first.
func (t *top) key(s *segment, doc uint32) uint64 {
	switch t.query.Sort {
	case SortNewest:
		seen := s.seenAt(doc) // ^1<<63 makes the order of int64 that of uint64
		if seen == unknownSeen {
			return math.MaxUint64
		}
		return ^(uint64(seen) ^ 1<<63)
	case SortOldest:
		return uint64(s.seenAt(doc)) ^ 1<<63
	case SortMint:
		return s.mints[doc].Prefix()
	case SortFigure:
		return figureKey(t.query.Figure(s.rowIDs[doc]))
	default:
		return s.key(doc)
	}
}

// figureKey returns a number that sorts figures descending; an unknown one sorts last.
func figureKey(value float64, known bool) uint64 {
	if !known || math.IsNaN(value) {
		return math.MaxUint64
	}
	bits := math.Float64bits(value + 0) // turns -0 into 0
	if bits>>63 == 0 {
		return ^(bits | 1<<63)
	}
	return bits
}
