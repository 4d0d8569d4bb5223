package order

import "sync"

// Witness remembers of which slots a block was seen that is not on the chain, or not yet: a stream
// tells of blocks that are processed, completed or dead long before, and often long after, the
// chain shows that it went on without them. So a slot without a block of the chain can be told
// apart: nobody produced one, or its block lost. Safe for concurrent use; remembers the last window
// slots. The zero value knows nothing.
type Witness struct {
	mu          sync.Mutex
	seen, empty map[uint64]bool
	highest     uint64
}

// Seen takes word that slot has a block. dead says that the chain was known to go on without it: it
// has to be told now.
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

// Empty takes word that the chain goes on without a block in slot. dead says that it has one.
func (w *Witness) Empty(slot uint64) (dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[slot] {
		return true
	}
	w.note(&w.empty, slot)
	return false
}

// Chain takes word that slot has a block of the chain: whatever else is said of it makes no dead
// one.
func (w *Witness) Chain(slot uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, slot)
	delete(w.empty, slot)
}

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
