package search

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"math"
	"slices"
)

// found is a token that matches, with what sorts it.
type found struct {
	key   uint64
	score float64
	view  *view
	slot  uint32
	tier  Tier
	field Field
}

// top keeps the best k tokens that it is told of.
type top struct {
	order Sort
	k     int
	found []found // when full a heap with the worst at its root
}

// compare orders a before b when negative.
func (t *top) compare(a, b *found) int {
	if t.order == SortRelevance {
		if a.tier != b.tier {
			return cmp.Compare(a.tier, b.tier)
		}
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
	}
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return compareSlots(a.view, a.slot, b.view, b.slot, t.order == SortRelevance || t.order == SortVolume)
}

func (t *top) Len() int           { return len(t.found) }
func (t *top) Less(i, j int) bool { return t.compare(&t.found[i], &t.found[j]) > 0 }
func (t *top) Swap(i, j int)      { t.found[i], t.found[j] = t.found[j], t.found[i] }

// Push and Pop are unused: the heap is filled first and then only its root changes.
func (t *top) Push(any) {}

// Pop is unused.
func (t *top) Pop() any { return nil }

func (t *top) full() bool { return len(t.found) >= t.k }

// mayTake is false when a token of this place in the order, or a worse one, is surely not among the best.
func (t *top) mayTake(tier Tier, score float64, key uint64) bool {
	if t.k == 0 || !t.full() {
		return t.k > 0
	}
	worst := &t.found[0]
	if t.order == SortRelevance {
		if tier != worst.tier {
			return tier < worst.tier
		}
		if score != worst.score {
			return score > worst.score
		}
	}
	return key <= worst.key
}

func (t *top) offer(f *found) {
	switch {
	case t.k == 0:
	case len(t.found) < t.k:
		t.found = append(t.found, *f)
		if len(t.found) == t.k {
			heap.Init(t)
		}
	case t.compare(f, &t.found[0]) < 0:
		t.found[0] = *f
		heap.Fix(t, 0)
	}
}

// sorted ends the heap.
func (t *top) sorted() []found {
	slices.SortFunc(t.found, func(a, b found) int { return t.compare(&a, &b) })
	return t.found
}

// sortKey is what sorts a slot first.
func (t *top) sortKey(v *view, slot uint32) uint64 {
	switch t.order {
	case SortNewest:
		seen := v.seenAt(slot)
		if seen == unknownSeen {
			return math.MaxUint64
		}
		return ^(uint64(seen) ^ 1<<63)
	case SortOldest:
		return uint64(v.seenAt(slot)) ^ 1<<63
	case SortMint:
		return binary.BigEndian.Uint64(v.mint(slot))
	default:
		return v.key(slot)
	}
}
