package file

import (
	"slices"

	"github.com/mintlake/mintlake/ingest/source/parse"
)

// Bounds on what a gate holds: slots, and bytes of messages.
const (
	maxHeldSlots = 512
	maxHeldBytes = 256 << 20
	// maxBanks bounds the banks of a slot that are told apart.
	maxBanks = 64
)

// gate holds back what a recording has at commitment processed, blocks and lone transactions, until
// a status shows that their bank is confirmed: a slot can have several banks, of which at most one
// is on the chain. Servers tell at processed what a bank has, and then that it is processed; at
// confirmed they tell it after that. Such content passes at once, and so does that of a slot
// without any status before: the recording tells nothing of its banks. The gate opens for good if
// no slot is confirmed while maxHeldSlots are held. The zero value is ready for use.
type gate struct {
	slots map[uint64]*held
	bytes int
	// confirmed means that the recording shows which slots are confirmed, and open that it does
	// not.
	confirmed, open bool
	highest         uint64
	// dropped counts messages of slots or banks that were not confirmed.
	dropped int
}

// held is what is known of a slot, and what waits for its confirmation.
type held struct {
	updates []heldUpdate
	// created are the banks that were created, in order. Without numbers they are 0.
	created []uint64
	// processed are the banks that were told to be.
	processed []uint64
	// confirmed means that the slot is; winner is its bank, 0 if it is unknown.
	confirmed bool
	winner    uint64
}

type heldUpdate struct {
	parse.Update
	size int
}

// content takes a block or a lone transaction of size bytes. It returns what is to be passed on
// now.
func (g *gate) content(u parse.Update, size int) []parse.Update {
	h := g.slots[u.Slot]
	if h == nil || g.open {
		return []parse.Update{u}
	}
	if h.confirmed {
		if h.wins(u.Block.Bank.ID) {
			return []parse.Update{u}
		}
		g.dropped++
		return nil
	}
	if slices.Contains(h.processed, u.Block.Bank.ID) {
		return []parse.Update{u}
	}
	h.updates = append(h.updates, heldUpdate{u, size})
	g.bytes += size
	return g.bound()
}

// status takes the status of a slot. It returns what is to be passed on now.
func (g *gate) status(u parse.Update) []parse.Update {
	h := g.slot(u.Slot)
	if h == nil || g.open {
		return nil
	}
	switch u.Status { //nolint:exhaustive // the others do not say which bank wins
	case parse.SlotCreatedBank:
		if u.Bank.ID == 0 && len(h.created) > 0 {
			g.discard(h, func(held *heldUpdate) bool { return held.Block.Bank.ID == 0 })
		}
		note(&h.created, u.Bank.ID)
	case parse.SlotProcessed:
		note(&h.processed, u.Bank.ID)
	case parse.SlotConfirmed, parse.SlotFinalized:
		g.confirmed = true
		return g.confirm(nil, u.Slot, h, u.Bank.ID, u.Parent)
	}
	return g.bound()
}

// note adds a bank to a list, each once.
func note(banks *[]uint64, bank uint64) {
	if !slices.Contains(*banks, bank) && len(*banks) < maxBanks {
		*banks = append(*banks, bank)
	}
}

// slot returns what is known of a slot; nil if the slot is so old that it was forgotten.
func (g *gate) slot(slot uint64) *held {
	if h := g.slots[slot]; h != nil {
		return h
	}
	if slot+maxHeldSlots < g.highest {
		return nil
	}
	if g.slots == nil {
		g.slots = make(map[uint64]*held)
	}
	g.highest = max(g.highest, slot)
	h := &held{}
	g.slots[slot] = h
	return h
}

// confirm marks a slot as confirmed and appends what was held of its bank to out, behind that of
// its ancestors, which are confirmed with it. What was held of its other banks is dropped.
func (g *gate) confirm(out []parse.Update, slot uint64, h *held, bank uint64, parent *uint64) []parse.Update {
	if h.confirmed {
		return out
	}
	h.confirmed, h.winner = true, h.named(bank)
	g.discard(h, func(held *heldUpdate) bool { return !h.wins(held.Block.Bank.ID) })
	for i := range h.updates {
		if p := h.updates[i].Block.ParentSlot; p != nil {
			parent = p
		}
	}
	if parent != nil && *parent < slot {
		if ancestor := g.slots[*parent]; ancestor != nil && !ancestor.confirmed {
			out = g.confirm(out, *parent, ancestor, 0, nil)
		}
	}
	for i := range h.updates {
		out = append(out, h.updates[i].Update)
		g.bytes -= h.updates[i].size
	}
	h.updates = nil
	return out
}

// named returns the bank that a confirmation means. One without a number means the bank that was
// created last: a node clears the losing bank before it makes the winning one. A number that was
// never created is another node's, after a reconnection: it means the slot's only bank.
func (h *held) named(bank uint64) uint64 {
	switch {
	case slices.Contains(h.created, bank):
		return bank
	case bank == 0 && len(h.created) > 0:
		return h.created[len(h.created)-1]
	case len(h.created) == 1:
		return h.created[0]
	}
	return bank
}

// wins reports whether what is of a bank is on the chain, in a confirmed slot.
func (h *held) wins(bank uint64) bool { return bank == 0 || h.winner == 0 || bank == h.winner }

// discard drops what is held and fulfils a condition.
func (g *gate) discard(h *held, condition func(*heldUpdate) bool) {
	h.updates = slices.DeleteFunc(h.updates, func(u heldUpdate) bool {
		if !condition(&u) {
			return false
		}
		g.bytes -= u.size
		g.dropped++
		return true
	})
}

// bound keeps the bounds. Beyond them it forgets the lowest slots, or it opens the gate if no slot
// at all was confirmed.
func (g *gate) bound() (out []parse.Update) {
	if len(g.slots) <= maxHeldSlots && g.bytes <= maxHeldBytes {
		return nil
	}
	if !g.confirmed {
		return g.release()
	}
	for _, slot := range g.ascending() {
		if len(g.slots) <= maxHeldSlots/2 && g.bytes <= maxHeldBytes/2 {
			break
		}
		g.discard(g.slots[slot], func(*heldUpdate) bool { return true })
		delete(g.slots, slot)
	}
	return nil
}

func (g *gate) ascending() []uint64 {
	slots := make([]uint64, 0, len(g.slots))
	for slot := range g.slots {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	return slots
}

// release opens the gate and returns all that is held, by slot.
func (g *gate) release() (out []parse.Update) {
	for _, slot := range g.ascending() {
		for _, u := range g.slots[slot].updates {
			out = append(out, u.Update)
		}
	}
	*g = gate{open: true, dropped: g.dropped}
	return out
}

// end returns what is still held at the end of the recordings, if they do not show which slots are
// confirmed. Else that is dropped.
func (g *gate) end() []parse.Update {
	if !g.confirmed {
		return g.release()
	}
	for _, h := range g.slots {
		g.discard(h, func(*heldUpdate) bool { return true })
	}
	return nil
}
