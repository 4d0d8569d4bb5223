package trust

import (
	"maps"
	"sync"

	"github.com/mintlake/mintlake/swap/state"
)

// Bounds of what waits for its other half.
const (
	// joinSlots is how many slots a half waits.
	joinSlots = 64
	// maxHalves of each sort: a busy slot has a few thousand.
	maxHalves = 1 << 16
)

// half names a transaction: its slot, and the hash of its signature.
type half struct{ slot, hash uint64 }

// join brings together the state before a transaction and the transaction.
type join struct {
	mu     sync.Mutex
	steps  map[half][]*Evidence
	seen   map[half]*Transaction
	newest uint64
}

func newJoin() *join {
	return &join{steps: map[half][]*Evidence{}, seen: map[half]*Transaction{}}
}

// step takes in a state, and returns the evidence that is whole now.
func (j *join) step(s state.Step, e *Evidence) []*Evidence {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := half{s.Slot, s.Transaction}
	e.Transaction = &Transaction{UnixTime: s.UnixTime}
	if t := j.seen[h]; t != nil {
		return []*Evidence{e.with(t)}
	}
	if len(j.steps) >= maxHalves {
		clear(j.steps)
	}
	j.steps[h] = append(j.steps[h], e)
	j.age(s.Slot)
	return nil
}

// transaction takes in a transaction, and returns the evidence that is whole now.
func (j *join) transaction(t *Transaction) (whole []*Evidence) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := half{t.Slot, state.HashOf(t.Signature[:])}
	for _, e := range j.steps[h] {
		whole = append(whole, e.with(t))
	}
	delete(j.steps, h)
	if len(j.seen) >= maxHalves {
		clear(j.seen)
	}
	j.seen[h] = t // it may have written other pools, whose states come later
	j.age(t.Slot)
	return whole
}

// with is the evidence with its transaction. The block's time comes with the state.
func (e *Evidence) with(t *Transaction) *Evidence {
	whole, one := *e, *t
	one.UnixTime = e.UnixTime
	whole.Transaction = &one
	return &whole
}

// age forgets halves that waited for too long.
func (j *join) age(slot uint64) {
	if slot < j.newest+joinSlots/4 {
		return
	}
	j.newest = slot
	old := func(h half) bool { return h.slot+joinSlots < slot }
	maps.DeleteFunc(j.steps, func(h half, _ []*Evidence) bool { return old(h) })
	maps.DeleteFunc(j.seen, func(h half, _ *Transaction) bool { return old(h) })
}
