package state

import (
	"maps"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

const (
	// maxSlots is how many slots after the root are kept. A healthy chain has some 32 to 64 of
	// them.
	maxSlots = 512
	// maxDepth is how many slots the head's fork may have. When it has more, all but the last
	// maxDepth/2 count as final.
	maxDepth = 256
)

// slot is a slot that is not final yet.
type slot struct {
	parent uint64
	// hash is that of its block; zero if none was told.
	hash pubkey.Key
	// complete says that all of its writes have come.
	complete, dead bool
	blockTime      int64
	receivedAt     time.Time
	// keys are the accounts that it wrote.
	keys []venue.Key
	// writes came before it was complete; kept only if steps are wanted.
	writes []Write
}

// tree has the slots after the root, and which of them lead to the head.
type tree struct {
	// started says that root and head are set.
	started bool
	// root is final: the head's fork contains it. head is the slot of the state.
	root, head uint64
	// first is where the state begins.
	first uint64
	slots map[uint64]*slot
	// fork has the slots after the root up to the head.
	fork map[uint64]bool
	// confirmed are the slots after the root that are known to be confirmed.
	confirmed map[uint64]bool
	// final is the root's slot.
	final *slot
	// foreign says that a block names the root as its parent, but another hash: the root is of
	// another chain.
	foreign bool
}

func newTree() tree {
	return tree{slots: map[uint64]*slot{}, fork: map[uint64]bool{}, confirmed: map[uint64]bool{}}
}

// start makes a slot root and head, and returns the slots up to it, which are not needed any more.
// The slot must be complete and confirmed: a root on a fork that loses would stay for ever.
func (t *tree) start(number uint64) (gone map[uint64]*slot) {
	t.started, t.first, t.head, t.fork = true, number, number, map[uint64]bool{number: true}
	gone, _ = t.finalize(number)
	return gone
}

// resume makes a slot root and head, of an earlier run's state.
func (t *tree) resume(number uint64, final *slot) {
	t.started, t.root, t.head, t.first, t.final = true, number, number, number, final
}

// again returns an empty tree that remembers dead and confirmed slots.
func (t *tree) again() tree {
	next := newTree()
	for number, s := range t.slots {
		if s.dead {
			next.slots[number] = &slot{dead: true}
		}
	}
	next.confirmed = t.confirmed
	return next
}

// at returns a slot after the root, and makes it if it is not known.
func (t *tree) at(number uint64) *slot {
	s := t.slots[number]
	if s == nil {
		s = &slot{}
		t.slots[number] = s
	}
	return s
}

// path returns the slots after the root up to a slot; ok is false if the slot does not lead to the
// root.
func (t *tree) path(number uint64) (fork map[uint64]bool, ok bool) {
	fork = map[uint64]bool{}
	for number != t.root {
		s := t.slots[number]
		if number < t.root || s == nil || !s.complete || s.dead || s.parent >= number {
			return nil, false
		}
		fork[number] = true
		number = s.parent
	}
	return fork, true
}

// choose finds the head: the highest complete slot that leads to the root and that no confirmed
// slot excludes. It returns the slots that joined or left the head's fork.
func (t *tree) choose() (changed []uint64) {
	if !t.started {
		return nil
	}
	best, fork := t.root, map[uint64]bool{}
	for number, s := range t.slots {
		if number <= best || !s.complete || s.dead {
			continue
		}
		if path, ok := t.path(number); ok && !t.excluded(number, path) {
			best, fork = number, path
		}
	}
	for number := range t.fork {
		if !fork[number] {
			changed = append(changed, number)
		}
	}
	for number := range fork {
		if !t.fork[number] {
			changed = append(changed, number)
		}
	}
	t.head, t.fork = best, fork
	return changed
}

// excluded returns whether a fork that ends at a slot lacks a confirmed slot.
func (t *tree) excluded(number uint64, path map[uint64]bool) bool {
	for confirmed := range t.confirmed {
		if confirmed <= number && !path[confirmed] {
			return true
		}
	}
	return false
}

// finalize moves the root to a slot of the head's fork. It returns the slots that are not needed
// any more; ok is false if the slot is not on that fork.
func (t *tree) finalize(number uint64) (gone map[uint64]*slot, ok bool) {
	if number <= t.root {
		return nil, true
	}
	if !t.fork[number] {
		return nil, false
	}
	gone, t.final = map[uint64]*slot{}, t.slots[number]
	for n, s := range t.slots {
		if n <= number {
			gone[n] = s
			delete(t.slots, n)
		}
	}
	t.root = number
	maps.DeleteFunc(t.confirmed, func(n uint64, _ bool) bool { return n <= number })
	for n := range t.fork {
		if n <= number {
			delete(t.fork, n)
		}
	}
	return gone, true
}

// tip returns the head's slot.
func (t *tree) tip() *slot {
	if t.head == t.root {
		return t.final
	}
	return t.slots[t.head]
}

// loose counts the complete slots above the head that do not lead to the root.
func (t *tree) loose() (count int) {
	for number, s := range t.slots {
		if number > t.head && s.complete && !s.dead {
			if _, ok := t.path(number); !ok {
				count++
			}
		}
	}
	return count
}
