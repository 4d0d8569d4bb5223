package search

import (
	"encoding/binary"
	"math"
	"slices"
)

// found is a token that matches, with what sorts it.
type found struct {
	class uint64 // see classOf; offer sets it
	key   uint64
	score float64
	view  *view
	slot  uint32
	tier  Tier
	field Field
}

// top keeps the best k tokens that it is told of.
type top struct {
	order  Sort
	figure func(id uint32) (float64, bool) // with SortFigure
	k      int
	found  []found // when full a heap with the worst at its root
}

// classOf is a number that orders tiers, and within a tier scores, which are from 0 to 1: the bits
// of such numbers ascend as they do, and are fewer than 62. Only the last two tiers have scores.
func (t *top) classOf(tier Tier, score float64) uint64 {
	if t.order != SortRelevance {
		return 0
	}
	if tier < TierSubstring {
		return uint64(tier)
	}
	return uint64(tier-TierSubstring+1)<<62 - math.Float64bits(score) + 1<<61
}

// isBefore is the order.
func (t *top) isBefore(a, b *found) bool {
	if a.class != b.class {
		return a.class < b.class
	}
	if a.key != b.key {
		return a.key < b.key
	}
	return compareSlots(a.view, a.slot, b.view, b.slot, t.order == SortRelevance || t.order == SortVolume) < 0
}

func (t *top) full() bool { return len(t.found) >= t.k }

// mayTake is false when a token of this place in the order, or a worse one, is surely not among the
// best.
func (t *top) mayTake(tier Tier, score float64, key uint64) bool {
	if t.k == 0 || !t.full() {
		return t.k > 0
	}
	class, worst := t.classOf(tier, score), &t.found[0]
	return class < worst.class || class == worst.class && key <= worst.key
}

func (t *top) offer(f *found) {
	f.class = t.classOf(f.tier, f.score)
	switch {
	case t.k == 0:
	case len(t.found) < t.k:
		t.found = append(t.found, *f)
		if len(t.found) == t.k {
			t.heap()
		}
	case t.isBefore(f, &t.found[0]):
		t.found[0] = *f
		t.sink(0, t.k)
	}
}

// drop forgets the tokens of a view and a tier.
func (t *top) drop(v *view, tier Tier) {
	t.found = slices.DeleteFunc(t.found, func(f found) bool { return f.view == v && f.tier == tier })
}

// heap makes one. It is written out here, as is sink: a page of 50 takes a third of the time that
// container/heap takes.
func (t *top) heap() {
	for at := len(t.found)/2 - 1; at >= 0; at-- {
		t.sink(at, len(t.found))
	}
}

// sink moves what is at a place of the heap's first size down to where it belongs.
func (t *top) sink(at, size int) {
	item := t.found[at]
	for child := 2*at + 1; child < size; child = 2*at + 1 {
		if child+1 < size && t.isBefore(&t.found[child], &t.found[child+1]) {
			child++
		}
		if !t.isBefore(&item, &t.found[child]) {
			break
		}
		t.found[at] = t.found[child]
		at = child
	}
	t.found[at] = item
}

// sorted ends the heap.
func (t *top) sorted() []found {
	t.heap()
	for last := len(t.found) - 1; last > 0; last-- {
		t.found[0], t.found[last] = t.found[last], t.found[0]
		t.sink(0, last)
	}
	return t.found
}

// figureKey is a number that sorts figures descending, and behind them what has none.
func figureKey(value float64, known bool) uint64 {
	if !known || math.IsNaN(value) {
		return math.MaxUint64
	}
	bits := math.Float64bits(value + 0) // of the two zeros the positive one
	if bits>>63 == 0 {
		return ^(bits | 1<<63)
	}
	return bits
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
	case SortFigure:
		return figureKey(t.figure(v.ids[slot]))
	default:
		return v.key(slot)
	}
}
