package stream

import (
	"maps"
	"slices"
)

// Bounds of the transactions that wait for their slot to be finalized. Mainnet finalizes a slot
// when it confirms it. A chain with vote transactions does so after 32 slots of 400 ms. In that
// time 60 MB of transactions come that touch the programs that ingest subscribes to.
const (
	heldBytes = 512 << 20
	heldSlots = 512
	// heldUntold replaces heldSlots while no finalized slot is known: there are sources that report
	// none.
	heldUntold = 64
)

// finals holds transactions until their slot is finalized. Only one goroutine may use it.
type finals struct {
	slots map[uint64]*finalSlot
	bytes int
	// root is the highest finalized slot; 0 while none is known.
	root uint64
	// droppedFrom and droppedTo are the first and the last of the slots that bound has dropped
	// while no finalized slot was known, and that finalized has not returned as a gap yet. Both are
	// 0 if there are none.
	droppedFrom, droppedTo uint64
}

// finalSlot is a slot with its transactions in the order of the log.
type finalSlot struct {
	slot  uint64
	list  []*transaction
	end   *note // nil until the slot's end came
	bytes int
}

func newFinals() *finals { return &finals{slots: map[uint64]*finalSlot{}} }

func (f *finals) of(slot uint64) *finalSlot {
	s := f.slots[slot]
	if s == nil {
		s = &finalSlot{slot: slot}
		f.slots[slot] = s
	}
	return s
}

// hold keeps a transaction until its slot is finalized. The result is that of bound.
func (f *finals) hold(t *transaction) (lost []uint64) {
	s := f.of(t.slot)
	s.list = append(s.list, t)
	size := t.size()
	s.bytes, f.bytes = s.bytes+size, f.bytes+size
	return f.bound()
}

// ended keeps the end of a slot. If the slot was finalized before its end came, as when a missed
// slot is filled later, ended moves its transactions into end.final. The result is that of bound.
func (f *finals) ended(end *note) (lost []uint64) {
	f.of(end.slot).end = end
	if end.slot <= f.root {
		end.final = []*finalSlot{f.forget(end.slot)}
	}
	return f.bound()
}

// bound drops the oldest slots while too much is held. The caller must tell subscribers now that
// the slots in lost are missing. While no finalized slot is known, lost is nil, and finalized
// returns the gap later: no live subscriber can wait for finalized transactions yet, but one may
// come before the dropped slot is finalized, and a replay waits from its beginning.
func (f *finals) bound() (lost []uint64) {
	most := heldSlots
	if f.root == 0 {
		most = heldUntold
	}
	for f.bytes > heldBytes || len(f.slots) > most {
		oldest := slices.Min(slices.Collect(maps.Keys(f.slots)))
		f.forget(oldest)
		if f.root > 0 {
			lost = append(lost, oldest)
			continue
		}
		if f.droppedTo == 0 {
			f.droppedFrom = oldest
		}
		f.droppedFrom, f.droppedTo = min(f.droppedFrom, oldest), max(f.droppedTo, oldest)
	}
	return lost
}

// finalized moves the held slots up to n.slot into n.final, in ascending order. A finalized slot
// finalizes all slots before it, even if the source does not report them. If bound has dropped
// slots up to n.slot of which subscribers were not told yet, finalized returns their gap; otherwise
// nil.
func (f *finals) finalized(n *note) (gap *note) {
	f.root = max(f.root, n.slot)
	for slot := range f.slots {
		if slot <= n.slot {
			n.final = append(n.final, f.forget(slot))
		}
	}
	slices.SortFunc(n.final, func(a, b *finalSlot) int { return int(a.slot) - int(b.slot) })
	if f.droppedTo == 0 || f.droppedFrom > n.slot {
		return nil
	}
	gap = &note{offset: n.offset, kind: noteGap, first: f.droppedFrom, slot: min(f.droppedTo, n.slot), finalOnly: true}
	if f.droppedFrom = n.slot + 1; f.droppedFrom > f.droppedTo {
		f.droppedFrom, f.droppedTo = 0, 0
	}
	return gap
}

// forget removes a slot and returns it; nil if it is not held.
func (f *finals) forget(slot uint64) *finalSlot {
	s := f.slots[slot]
	if s != nil {
		f.bytes -= s.bytes
		delete(f.slots, slot)
	}
	return s
}

// transactionOverhead is about how many bytes a transaction takes besides its encoding and its
// addresses.
const transactionOverhead = 256

// size estimates how many bytes of memory the transaction takes.
func (t *transaction) size() int {
	return len(t.raw) + cap(t.accounts)*len(address{}) + transactionOverhead
}
