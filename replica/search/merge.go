package search

import (
	"container/heap"
	"slices"
)

const (
	// fanIn segments of a tier are merged into one of the next.
	fanIn      = 8
	mostlyGone = 3 // the tier of segments of which most tokens are elsewhere by now
)

// usualTiers are the most tokens of the segments of a tier. The first is merged at once, which
// takes some 10 ms; the others beside.
func usualTiers() [mostlyGone]int { return [...]int{1 << 10, 1 << 13, 1 << 16} }

// tierOf is how large a segment is; -1 is what is large enough to be left alone.
func (x *Inverted) tierOf(v *view) int {
	if v.live*2 < v.slots() && v.slots() > x.tiers[1] {
		return mostlyGone
	}
	for tier, most := range x.tiers {
		if v.live <= most && !v.full {
			return tier
		}
	}
	return -1
}

// due are the segments to merge next: the smallest tier that is full.
func (x *Inverted) due(views []*view) (tier int, inputs []*view) {
	var tiers [mostlyGone + 1][]*view
	for _, v := range views {
		if tier := x.tierOf(v); tier >= 0 {
			tiers[tier] = append(tiers[tier], v)
		}
	}
	for tier, inputs := range tiers {
		if len(inputs) >= fanIn || tier == mostlyGone && len(inputs) > 0 {
			return tier, inputs
		}
	}
	return 0, nil
}

// mergeSome merges what is tiny at once, and what is larger in a goroutine of which there is one.
// The writer holds the lock.
func (x *Inverted) mergeSome() {
	for {
		tier, inputs := x.due(x.current.Load().views)
		switch {
		case len(inputs) == 0:
			return
		case tier == 0:
			x.install(inputs, x.merge(inputs))
		case x.merging:
			return
		default:
			x.merging = true
			x.merges.Go(func() {
				merged := x.merge(inputs)
				x.writer.Lock()
				defer x.writer.Unlock()
				x.install(inputs, merged)
				x.merging = false
				x.mergeSome()
			})
			return
		}
	}
}

// Wait returns when no merge is under way: for measurements, which it would disturb. It is not to
// be called while Apply may be.
func (x *Inverted) Wait() { x.merges.Wait() }

// install puts merged segments in the place of their inputs. What changed since the inputs were
// read is carried over.
func (x *Inverted) install(inputs []*view, merged []fresh) {
	next := *x.current.Load()
	next.number++
	now := map[uint32]*view{} // the inputs as they are now
	for _, v := range inputs {
		now[v.serial] = nil
	}
	views := make([]*view, 0, len(next.views))
	for _, v := range next.views {
		if _, isInput := now[v.serial]; isInput {
			now[v.serial] = v
		} else {
			views = append(views, v)
		}
	}
	for _, f := range merged {
		d := newDraft(f.view)
		for slot, from := range f.from {
			source := now[from.serial]
			// no live token was left in a view that is gone
			if source == nil || !source.isAlive(from.slot) {
				d.kill(uint32(slot))
				continue
			}
			d.rekey(uint32(slot), source.key(from.slot), source.seenAt(from.slot))
		}
		if v := d.finish(next.number); v.live > 0 {
			views = append(views, v)
			x.settle(v)
		}
	}
	next.views = views
	x.current.Store(&next)
}

// merge reads the live tokens of views in the order of their symbols.
func (x *Inverted) merge(inputs []*view) []fresh {
	h := make(mergeHeap, 0, len(inputs))
	count := 0
	for _, v := range inputs {
		count += v.live
		c := &mergeCursor{view: v, arena: string(v.arena)}
		if c.next() {
			h = append(h, c)
		}
	}
	heap.Init(&h)
	var r row
	return x.build(count, x.most, func() *row {
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

// mergeCursor walks the live slots of a view.
type mergeCursor struct {
	*view
	arena string
	slot  int // the next
	row   row
}

func (c *mergeCursor) next() bool {
	for c.slot < c.slots() && !c.isAlive(uint32(c.slot)) {
		c.slot++
	}
	if c.slot == c.slots() {
		return false
	}
	slot := uint32(c.slot)
	c.slot++
	c.row = row{
		id: c.ids[slot], attr: c.attrs[slot], classic: c.classic[slot/64]>>(slot%64)&1 != 0, key: c.key(slot), seen: c.seenAt(slot),
		symbol: c.textString(c.sym[slot]), name: c.textString(c.name[slot]), from: place{c.serial, slot},
	}
	copy(c.row.mint[:], c.mint(slot))
	return true
}

func (c *mergeCursor) textString(t uint32) string {
	return c.arena[c.offsets[t]:c.offsets[int(t)+1]]
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
