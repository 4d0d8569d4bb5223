package state

import (
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// maxSlots is how many slots after the root are kept. A healthy chain has some 32 to 64 of
	// them.
	maxSlots = 512
	// maxDepth is how many slots the head's fork may have. When it has more, all but the last
	// maxDepth/2 count as final.
	maxDepth = 256
)

// tree has the banks after the root, and which of them lead to the head.
type tree struct {
	// started says that root and head are set.
	started bool
	// root is final: the head's fork contains it. head is the slot of the state.
	root, head uint64
	// first is where the state begins.
	first uint64
	slots map[uint64]*slot
	// order has the numbers of slots, ascending. count is how many slots there are, plus one for
	// each further bank of a slot.
	order []uint64
	count int
	// fork has the banks after the root up to the head.
	fork []*bank
	// final is the root's bank.
	final *bank
	// foreign says that a confirmed block does not lead to the root: the root is of another chain.
	foreign bool
	// turn counts the calls of choose.
	turn uint64
}

func newTree() tree { return tree{slots: map[uint64]*slot{}} }

// start makes a confirmed bank root and head, and returns the slots up to it, which are not needed
// any more. None of their banks is on the fork. The bank must be complete and confirmed: a root on
// a fork that loses would stay for ever.
func (t *tree) start(b *bank) (gone []*slot) {
	t.started, t.first, t.head = true, b.slot.number, b.slot.number
	return t.finalize(b)
}

// resume makes a slot of an earlier run's state root and head.
func (t *tree) resume(number uint64, final *bank) {
	t.started, t.root, t.head, t.first, t.final = true, number, number, number, final
}

// restarted returns the tree with which the state begins anew. It keeps the banks, to remember
// which are dead, aside and confirmed, unless there are too many.
func (t *tree) restarted() tree {
	next := newTree()
	if t.full() {
		return next
	}
	next.slots, next.order, next.count = t.slots, t.order, t.count
	for _, s := range next.slots {
		s.reading = nil
		for _, b := range s.banks {
			b.complete, b.fork, b.below, b.over, b.keys, b.writes = false, false, nil, nil, nil, nil
		}
	}
	return next
}

// disconnect forgets all banks after the root, whose ids another connection does not know, and
// returns them. The hashes of confirmed blocks and what calls read stay.
func (t *tree) disconnect() (gone []*bank) {
	slots := t.slots
	t.slots, t.order, t.count, t.fork, t.head = map[uint64]*slot{}, nil, 0, nil, t.root
	for number, s := range slots {
		gone = append(gone, s.banks...)
		known := s.confirmed && s.hash != (pubkey.Key{})
		if s.reading == nil && !known {
			continue
		}
		kept := t.at(number)
		if known {
			kept.confirmed, kept.hash, kept.final = true, s.hash, s.final
		}
		if kept.reading = s.reading; kept.reading != nil {
			kept.reading.slot = kept
		}
	}
	return gone
}

// full returns whether no further slot is kept.
func (t *tree) full() bool { return t.count >= maxSlots }

// at returns a slot, and makes it if it is not known; nil if it is not after the root, or if there
// are too many.
func (t *tree) at(number uint64) *slot {
	s := t.slots[number]
	if s == nil && number > t.root && !t.full() {
		s = &slot{number: number}
		t.slots[number] = s
		i, _ := slices.BinarySearch(t.order, number)
		t.order = slices.Insert(t.order, i, number)
		t.count++
	}
	return s
}

// parentOf returns the parent of a bank after the root; nil if it is not known.
func (t *tree) parentOf(b *bank) (found *bank) {
	s := t.slots[b.parent]
	if s == nil {
		return nil
	}
	if b.parentHash == (pubkey.Key{}) {
		switch {
		case b.below != nil && b.below.slot == s:
			return b.below
		case s.named != nil:
			return s.named
		}
		return s.current
	}
	for _, p := range s.banks {
		// The same block may have been executed twice.
		if p.complete && p.hash == b.parentHash && (found == nil || p == s.named || p == s.current && found != s.named) {
			found = p
		}
	}
	if found == nil && len(s.banks) == 1 && s.banks[0].complete && s.banks[0].hash == (pubkey.Key{}) {
		return s.banks[0]
	}
	return found
}

// onRoot returns whether the root is the parent of a bank.
func (t *tree) onRoot(b *bank) bool {
	none := pubkey.Key{}
	if b.parentHash == none && b.below != nil && b.below != t.final {
		return false
	}
	return b.parent == t.root && (b.parentHash == none || t.final.hash == none || b.parentHash == t.final.hash)
}

// onHead returns whether the head is the parent of a bank.
func (t *tree) onHead(b *bank) bool {
	if !t.started || b.parent != t.head {
		return false
	}
	return t.head == t.root && t.onRoot(b) || t.head > t.root && t.parentOf(b) == t.tip()
}

// follow records the slot of a bank's parent, and the bank that is current there.
func (t *tree) follow(b *bank, parent uint64) {
	if b.parent == parent && b.below != nil {
		return
	}
	b.parent, b.below = parent, nil
	if s := t.slots[parent]; s != nil {
		if b.below = s.current; b.below == nil {
			b.below = s.named
		}
	}
}

// choose finds the head: the highest complete bank that leads to the root and that no confirmed
// slot excludes. It returns the banks that joined or left the head's fork.
func (t *tree) choose() (changed []*bank) {
	if !t.started {
		return nil
	}
	t.confirmAncestors()
	t.turn++
	var best *bank
	var last *slot // the last confirmed one
	for _, number := range t.order {
		s := t.slots[number]
		for _, b := range s.banks {
			if t.lead(b, last); b.leads {
				best = b
			}
		}
		if s.confirmed {
			last = s
		}
	}
	next := make([]*bank, 0, len(t.fork)+1)
	for b := best; b != nil; b = b.over {
		if !b.fork {
			b.fork = true
			changed = append(changed, b)
		}
		b.turn = t.turn
		next = append(next, b)
	}
	slices.Reverse(next)
	for _, b := range t.fork {
		if b.turn != t.turn {
			b.fork = false
			changed = append(changed, b)
		}
	}
	t.head, t.fork = t.root, next
	if best != nil {
		t.head = best.slot.number
	}
	for _, number := range t.order {
		s := t.slots[number]
		if r := s.reading; r != nil && r.fork != (s.named != nil && s.named.fork) {
			r.fork = !r.fork
			changed = append(changed, r)
		}
	}
	return changed
}

// lead finds whether a bank leads to the root by way of all confirmed slots below it, of which last
// is the highest. Its parent must have been looked at before.
func (t *tree) lead(b *bank, last *slot) {
	b.leads, b.lost, b.over = false, false, nil
	if !b.complete {
		return
	}
	switch {
	case b.parent >= b.slot.number:
	case t.onRoot(b):
		b.leads = last == nil
	case b.parent <= t.root:
		t.foreign = t.foreign || b.slot.named == b
	default:
		p := t.parentOf(b)
		if p == nil || !p.complete {
			b.lost = true
			return
		}
		b.over, b.lost = p, p.lost
		b.leads = p.leads && (last == nil || last.number <= p.slot.number)
	}
	b.leads = b.leads && b.slot.eligible(b)
}

// confirmAncestors names the parent of each named bank, and so all banks below it: a confirmed bank
// confirms those that lead to it.
func (t *tree) confirmAncestors() {
	for _, number := range slices.Backward(t.order) {
		s := t.slots[number]
		if s.named == nil || !s.named.complete || s.named.parent >= number || s.named.parent <= t.root {
			continue
		}
		p := t.parentOf(s.named)
		if p != nil && p != p.slot.named && (p.slot.named == nil || p.slot.guessed) {
			p.slot.name(p, s.guessed)
		}
	}
}

// settled returns the bank of the head's fork that can be the new root; nil if there is none.
func (t *tree) settled() *bank {
	for _, b := range slices.Backward(t.fork) {
		if b.slot.final {
			return b
		}
	}
	if len(t.fork) > maxDepth { // the stream may not report what is final
		b := t.fork[len(t.fork)-1-maxDepth/2]
		b.slot.name(b, false)
		t.confirmAncestors()
		return b
	}
	return nil
}

// finalize moves the root to a bank of the head's fork. It returns the slots that are not needed
// any more.
func (t *tree) finalize(b *bank) (gone []*slot) {
	t.root, t.final = b.slot.number, b
	b.below, b.over = nil, nil
	end := 0
	for end < len(t.order) && t.order[end] <= t.root {
		s := t.slots[t.order[end]]
		gone = append(gone, s)
		delete(t.slots, s.number)
		t.count -= max(1, len(s.banks))
		end++
	}
	t.order = slices.Clone(t.order[end:])
	t.fork = slices.DeleteFunc(slices.Clone(t.fork), func(b *bank) bool { return b.slot.number <= t.root })
	return gone
}

// tip returns the head's bank.
func (t *tree) tip() *bank {
	if len(t.fork) == 0 {
		return t.final
	}
	return t.fork[len(t.fork)-1]
}

// loose counts the slots above the head that have a complete block which should be on the head's
// fork, but is not because a block between is missing.
func (t *tree) loose() (count int) {
	for _, number := range slices.Backward(t.order) {
		if number <= t.head {
			break
		}
		s := t.slots[number]
		if slices.ContainsFunc(s.banks, func(b *bank) bool { return b.complete && !b.dead && (b.lost || s.confirmed) }) {
			count++
		}
	}
	return count
}
