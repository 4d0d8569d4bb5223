package file

import (
	"slices"

	"github.com/mintlake/mintlake/ingest/source/parse"
)

// Bounds on what a gate holds: slots, and bytes of messages.
const (
	maxHeldSlots = 512
	maxHeldBytes = 256 << 20
	// maxBanks bounds the banks that are remembered of a slot.
	maxBanks = 64
)

// gate holds back blocks and lone transactions that were recorded at commitment processed, until a
// status shows that their bank is confirmed. It does so because a slot can have several banks, of
// which at most one is on the chain.
//
// At commitment processed, a server sends the content of a bank before the status that the bank is
// processed. At commitment confirmed, a server sends the content after that status. Content that
// comes after the status passes immediately. Content of a slot that has had no status passes too,
// because the recording tells nothing of the slot's banks. If a bound is exceeded before any slot
// was confirmed, the gate opens for good. The zero value is ready for use.
type gate struct {
	slots map[uint64]*held
	bytes int
	// confirmed means that the recording has shown a confirmed slot. open means that the recording
	// does not show which slots are confirmed, so everything passes.
	confirmed, open bool
	highest         uint64
	// dropped counts messages of slots or banks that were not confirmed.
	dropped int
}

// held is what is known of a slot, and what waits for its confirmation. A bank is known by its ID,
// which is 0 if the server gave none.
type held struct {
	updates []heldUpdate
	// created are the banks that were created, in order, each once.
	created []uint64
	// processed are the banks with a status that they are processed.
	processed []uint64
	// confirmed means that the slot is confirmed. winner is then the confirmed bank; 0 if it is
	// unknown.
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
		// The content so far is of the losing bank, see named.
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

// confirm marks a slot as confirmed. It appends to out what was held of the slot's ancestors, which
// are confirmed with it, and then what was held of the confirmed bank. It drops what was held of
// the slot's other banks.
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

// named returns the bank that a confirmation means. A confirmation without a bank ID means the bank
// that was created last, because a node clears the losing bank before it makes the winning one. An
// ID that was never created comes from another node, after a reconnection. It means the slot's only
// bank, if the slot has only one.
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

// wins reports whether content of a bank of the confirmed slot is on the chain. It is, if either
// the bank or the winner is unknown.
func (h *held) wins(bank uint64) bool { return bank == 0 || h.winner == 0 || bank == h.winner }

// discard drops the held updates of a slot for which condition returns true.
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

// bound keeps the bounds. If one is exceeded, bound forgets the lowest slots. If no slot at all was
// confirmed, it opens the gate instead, and returns what was held.
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

// ascending returns the known slots in ascending order.
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

// end ends the recordings. If no slot was confirmed in them, end returns what is still held.
// Otherwise it drops it.
func (g *gate) end() []parse.Update {
	if !g.confirmed {
		return g.release()
	}
	for _, h := range g.slots {
		g.discard(h, func(*heldUpdate) bool { return true })
	}
	return nil
}
