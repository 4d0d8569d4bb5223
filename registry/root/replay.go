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
	atSlot  uint64
	highest uint64
	states  map[pubkey.Key]*registry.State
}

// NewReplay returns a replay that ignores facts of slots above atSlot. With EverySlot it takes all.
func NewReplay(atSlot uint64) *Replay {
	return &Replay{atSlot: atSlot, states: make(map[pubkey.Key]*registry.State)}
}

// Apply adds facts, of one message or of many, in any order.
func (r *Replay) Apply(facts []registry.Fact) {
	for i := range facts {
		fact := &facts[i]
		slot := SlotOf(fact)
		if !Counts(fact.Register) || slot > r.atSlot {
			continue
		}
		r.highest = max(r.highest, slot)
		state := r.states[fact.Mint]
		if state == nil {
			state = new(registry.State)
			r.states[fact.Mint] = state
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
		slot = r.highest
	}
	return Root{Slot: slot, Tokens: tree.Len(), Hash: tree.Sum()}
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
		tree  = NewTree(nil)
		mu    sync.Mutex
		wait  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			var encoder encoder
			for batch := range mints {
				for _, m := range batch {
					if leaf, ok := encoder.leaf(m.key, m.state); ok {
						bucket := encoder.bucket(m.key)
						mu.Lock()
						tree.put(m.number, bucket, &leaf)
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
