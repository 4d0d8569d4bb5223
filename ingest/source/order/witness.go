package order

import "sync"

// Witness tells apart two kinds of slots without a block on the chain: nobody produced a block, or
// the block lost its fork. To do so, it remembers the slots in which a block was seen that is not,
// or not yet, on the chain, and the slots without a block on the chain. Which of the two comes
// first does not matter: a stream reports a block as processed, completed or dead sometimes long
// before and often long after the chain shows that it goes on without the block. Witness remembers
// the last window slots. Safe for concurrent use. The zero value is ready for use.
type Witness struct {
	mu          sync.Mutex
	seen, empty map[uint64]bool
	highest     uint64
}

// Seen notes that slot has a block. dead means that the chain is already known to go on without it,
// so the slot must be reported as dead now.
func (w *Witness) Seen(slot uint64) (dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.empty[slot] {
		delete(w.empty, slot)
		return true
	}
	w.note(&w.seen, slot)
	return false
}

// Empty notes that the chain goes on without a block in slot. dead means that the slot has a block.
func (w *Witness) Empty(slot uint64) (dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[slot] {
		return true
	}
	w.note(&w.empty, slot)
	return false
}

// Chain notes that slot has a block on the chain, so reports of other blocks in the slot do not
// make it dead.
func (w *Witness) Chain(slot uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, slot)
	delete(w.empty, slot)
}

// note adds slot to a set. If the set has grown large, note removes what is below the window.
func (w *Witness) note(set *map[uint64]bool, slot uint64) {
	if *set == nil {
		*set = make(map[uint64]bool)
	}
	(*set)[slot] = true
	w.highest = max(w.highest, slot)
	if len(*set) < 2*window || w.highest < window {
		return
	}
	for old := range *set {
		if old < w.highest-window {
			delete(*set, old)
		}
	}
}
