package root

import (
	"runtime"
	"sync"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Replay computes the root at a slot from the whole history. The log keeps the history for ever, so
// every node can compute the root of any slot later. Replay keeps only facts that count: about 2
// KiB a mint. It must not be used concurrently.
type Replay struct {
	atSlot uint64
	states map[pubkey.Key]*registry.State
	// takenBack are the mints that facts were taken from, see Again.
	takenBack map[pubkey.Key]bool
	again     bool
}

// NewReplay returns a replay that ignores facts of slots above atSlot. With EverySlot it takes all.
func NewReplay(atSlot uint64) *Replay {
	return &Replay{atSlot: atSlot, states: make(map[pubkey.Key]*registry.State), takenBack: make(map[pubkey.Key]bool)}
}

// Again must be called after all facts were added. If it returns true, all of them must be added
// once more: retractions took back facts that had beaten others. Only the mints concerned are
// folded then.
func (r *Replay) Again() bool {
	if r.again || len(r.takenBack) == 0 {
		return false
	}
	r.again = true
	for mint := range r.takenBack {
		state := new(registry.State)
		for _, fact := range r.states[mint].Facts() {
			if fact.Register == registry.RegisterRetraction {
				state.Apply(fact)
			}
		}
		r.states[mint] = state
	}
	return true
}

// Apply adds facts, of one message or of many, in any order.
func (r *Replay) Apply(facts []registry.Fact) {
	for i := range facts {
		fact := &facts[i]
		if !Counts(fact.Register) || SlotOf(fact) > r.atSlot || r.again && !r.takenBack[fact.Mint] {
			continue
		}
		state := r.states[fact.Mint]
		if state == nil {
			state = new(registry.State)
			r.states[fact.Mint] = state
		}
		if state.TakesBack(fact) {
			r.takenBack[fact.Mint] = true
		}
		state.Apply(*fact)
	}
}

// Root returns the root of the facts added, at atSlot or, with EverySlot, at the highest slot of
// any fact. It uses all cores.
func (r *Replay) Root() Root {
	tree := r.tree()
	slot := r.atSlot
	if slot == EverySlot {
		slot = r.highest()
	}
	return tree.Root(slot)
}

// highest returns the highest slot of the facts added, less those that were taken back. It looks at
// the facts that hold only: a fact that beats another one, or makes it dead, is not of an earlier
// slot.
func (r *Replay) highest() (slot uint64) {
	for _, state := range r.states {
		slot = max(slot, Highest(state.Facts()))
	}
	return slot
}

// tree builds the tree of all mints' elements. All cores hash elements; mu guards the tree.
func (r *Replay) tree() *Tree {
	type mint struct {
		key    pubkey.Key
		state  *registry.State
		number uint32
	}
	var (
		mints = make(chan []mint)
		tree  = NewTree()
		mu    sync.Mutex
		wait  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			var encoder encoder
			for batch := range mints {
				for _, m := range batch {
					if leaf, ok := encoder.leaf(m.key, m.state); ok {
						place := encoder.place(m.key)
						mu.Lock()
						tree.add(m.number, place, &leaf)
						mu.Unlock()
					}
				}
			}
		})
	}
	batch := make([]mint, 0, 1024)
	number := uint32(0)
	for key, state := range r.states { // in any order: the tree does not depend on it
		if batch = append(batch, mint{key, state, number}); len(batch) == cap(batch) {
			mints <- batch
			batch = make([]mint, 0, 1024)
		}
		number++
	}
	mints <- batch
	close(mints)
	wait.Wait()
	return tree
}
