package stream

import (
	"maps"
	"slices"
)

// Bounds of what is held for finalized: mainnet finalizes a slot some 32 slots later, 60 MB of
// transactions that touch our programs.
const (
	heldBytes = 512 << 20
	heldSlots = 512
	// heldUntold is how many slots are held while no slot was ever told as finalized: a source may
	// tell none.
	heldUntold = 64
)

// finals holds transactions until their slot is finalized. It is for one goroutine.
type finals struct {
	slots map[uint64]*finalSlot
	bytes int
	// root is the highest slot that was told as finalized; 0 when none was.
	root uint64
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

// hold keeps a transaction. It returns the slot that had to go because too much was held, and false
// when none had to.
func (f *finals) hold(t *transaction) (lost uint64, isLost bool) {
	s := f.of(t.slot)
	s.list = append(s.list, t.alike())
	size := t.size()
	s.bytes, f.bytes = s.bytes+size, f.bytes+size
	most := heldSlots
	if f.root == 0 {
		most = heldUntold
	}
	if f.bytes <= heldBytes && len(f.slots) <= most {
		return 0, false
	}
	oldest := slices.Min(slices.Collect(maps.Keys(f.slots)))
	f.forget(oldest)
	return oldest, f.root > 0
}

// ended notes a slot's end. A slot that was filled later than it was finalized is released with its
// end.
func (f *finals) ended(end *note) {
	f.of(end.slot).end = end
	if end.slot <= f.root {
		end.final = []*finalSlot{f.forget(end.slot)}
	}
}

// finalized releases all slots up to the note's, ascending: a finalized slot makes those before it
// finalized, whether that is told or not.
func (f *finals) finalized(n *note) {
	f.root = max(f.root, n.slot)
	for slot := range f.slots {
		if slot <= n.slot {
			n.final = append(n.final, f.forget(slot))
		}
	}
	slices.SortFunc(n.final, func(a, b *finalSlot) int { return int(a.slot) - int(b.slot) })
}

// forget takes a slot out; nil when it is not held.
func (f *finals) forget(slot uint64) *finalSlot {
	s := f.slots[slot]
	if s != nil {
		f.bytes -= s.bytes
		delete(f.slots, slot)
	}
	return s
}

// transactionOverhead is what a transaction takes besides its bytes and addresses.
const transactionOverhead = 256

// size is about how many bytes the transaction takes.
func (t *transaction) size() int {
	return len(t.grpc) + cap(t.accounts)*len(address{}) + transactionOverhead
}
