package search

import (
	"container/heap"
	"slices"
)

const (
	// fanIn is how many segments of a tier are merged into one of the next.
	fanIn = 8
	// mostlyGone is the tier of segments of which most documents are tombstones.
	mostlyGone = 3
)

// usualTiers returns how many documents a segment of each tier has at most. The writer merges the
// first tier itself, which takes some 10 ms; the others are merged in the background.
func usualTiers() [mostlyGone]int { return [...]int{1 << 10, 1 << 13, 1 << 16} }

// tierOf returns the tier of a segment; -1 if it is large enough to be left alone.
func (x *Inverted) tierOf(s *segment) int {
	if s.liveCount*2 < s.documents() && s.documents() > x.tiers[1] {
		return mostlyGone
	}
	for tier, most := range x.tiers {
		if s.liveCount <= most && !s.full {
			return tier
		}
	}
	return -1
}

// due returns the segments to merge next: those of the lowest tier that has fanIn. One segment that
// is mostly gone is enough. If nothing is due, it returns no segments.
func (x *Inverted) due(segments []*segment) (tier int, inputs []*segment) {
	var tiers [mostlyGone + 1][]*segment
	for _, s := range segments {
		if tier := x.tierOf(s); tier >= 0 {
			tiers[tier] = append(tiers[tier], s)
		}
	}
	for tier, inputs := range tiers {
		if len(inputs) >= fanIn || tier == mostlyGone && len(inputs) > 0 {
			return tier, inputs
		}
	}
	return 0, nil
}

// mergeSome merges the segments that are due: those of the first tier itself, the others in one
// background goroutine. The caller holds x.writer.
func (x *Inverted) mergeSome() {
	for {
		tier, inputs := x.due(x.current.Load().segments)
		switch {
		case len(inputs) == 0:
			return
		case tier == 0:
			x.install(inputs, x.merge(inputs))
		case x.isMerging:
			return
		default:
			x.isMerging = true
			x.merges.Go(func() {
				merged := x.merge(inputs)
				x.writer.Lock()
				defer x.writer.Unlock()
				x.install(inputs, merged)
				x.isMerging = false
				x.mergeSome()
			})
			return
		}
	}
}

// Wait returns when no merge is under way, so that a measurement is not disturbed by one. Apply
// must not be called meanwhile.
func (x *Inverted) Wait() { x.merges.Wait() }

// install replaces inputs by the merged segments. Documents may have changed since merge read the
// inputs, so their present order and tombstones are carried over.
func (x *Inverted) install(inputs []*segment, merged []built) {
	next := *x.current.Load()
	next.number++
	now := map[uint32]*segment{} // the inputs as they are now
	for _, s := range inputs {
		now[s.serial] = nil
	}
	segments := make([]*segment, 0, len(next.segments))
	for _, s := range next.segments {
		if _, isInput := now[s.serial]; isInput {
			now[s.serial] = s
		} else {
			segments = append(segments, s)
		}
	}
	for _, m := range merged {
		d := newDraft(m.segment)
		for doc, from := range m.from {
			source := now[from.serial]
			// A segment without live documents is not in the version any more.
			if source == nil || !hasBit(source.live, from.doc) {
				d.remove(uint32(doc))
				continue
			}
			d.reorder(uint32(doc), source.key(from.doc), source.seenAt(from.doc))
		}
		if s := d.finish(); s.liveCount > 0 {
			segments = append(segments, s)
			x.locate(s)
		}
	}
	next.segments = segments
	x.current.Store(&next)
}

// merge builds segments of the live documents of inputs, which it reads in the order of their
// symbols.
func (x *Inverted) merge(inputs []*segment) []built {
	h := make(mergeHeap, 0, len(inputs))
	count := 0
	for _, s := range inputs {
		count += s.liveCount
		c := &mergeCursor{segment: s, text: string(s.text)}
		if c.next() {
			h = append(h, c)
		}
	}
	heap.Init(&h)
	var r row
	return x.build(count, x.maxDocuments, func() *row {
		if len(h) == 0 {
			return nil
		}
		r = h[0].row
		if h[0].next() {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
		return &r
	})
}

// mergeCursor walks the live documents of a segment.
type mergeCursor struct {
	segment *segment
	text    string // of all terms
	doc     int    // the next
	row     row
}

// next moves to the next live document and fills row; false at the end.
func (c *mergeCursor) next() bool {
	s := c.segment
	for c.doc < s.documents() && !hasBit(s.live, uint32(c.doc)) {
		c.doc++
	}
	if c.doc == s.documents() {
		return false
	}
	doc := uint32(c.doc)
	c.doc++
	c.row = row{
		id: s.rowIDs[doc], attributes: s.attributes[doc], classic: hasBit(s.classic, doc), key: s.key(doc), seen: s.seenAt(doc),
		symbol: c.term(s.symbols[doc]), name: c.term(s.names[doc]), from: location{s.serial, doc}, mint: s.mints[doc],
	}
	return true
}

func (c *mergeCursor) term(t uint32) string {
	return c.text[c.segment.ends[t]:c.segment.ends[int(t)+1]]
}

type mergeHeap []*mergeCursor

func (h mergeHeap) Len() int           { return len(h) }
func (h mergeHeap) Less(i, j int) bool { return h[i].row.symbol < h[j].row.symbol }
func (h mergeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(c any)        { *h = append(*h, c.(*mergeCursor)) }
func (h *mergeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = slices.Delete(*h, len(*h)-1, len(*h))
	return last
}
