package root

import (
	"runtime"
	"sync"

	"github.com/mintlake/mintlake/registry"
)

// Replay makes the root at a slot from the whole history: the log holds it for ever, so every node can say every slot's root later.
// It keeps only what counts: about 2 KiB a mint. For one goroutine at a time.
type Replay struct {
	atSlot  uint64
	highest uint64
	states  map[string]*registry.State
}

// NewReplay makes a replay that takes only facts of the slots up to atSlot; EverySlot takes all.
func NewReplay(atSlot uint64) *Replay {
	return &Replay{atSlot: atSlot, states: make(map[string]*registry.State)}
}

// Apply takes the facts of one message or many, in any order.
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

// Root is the root of what was applied, at atSlot or, for EverySlot, at the highest slot of any fact. All cores take part.
func (r *Replay) Root() Root {
	hash, tokens := r.Hash()
	slot := r.atSlot
	if slot == EverySlot {
		slot = r.highest
	}
	return Root{Slot: slot, Tokens: tokens, Hash: hash.Sum()}
}

// Hash is the root's state, and the number of its elements.
func (r *Replay) Hash() (Hash, int) {
	type mint struct {
		name  string
		state *registry.State
	}
	var (
		mints  = make(chan []mint)
		parts  = make([]Hash, runtime.GOMAXPROCS(0))
		counts = make([]int, len(parts))
		wait   sync.WaitGroup
	)
	for i := range parts {
		wait.Go(func() {
			var element []byte
			for batch := range mints {
				for _, m := range batch {
					var ok bool
					if element, ok = AppendEncode(element[:0], m.name, m.state); ok {
						parts[i].Add(element)
						counts[i]++
					}
				}
			}
		})
	}
	batch := make([]mint, 0, 1024)
	for name, state := range r.states { // in any order: the sum does not depend on it
		if batch = append(batch, mint{name, state}); len(batch) == cap(batch) {
			mints <- batch
			batch = make([]mint, 0, 1024)
		}
	}
	mints <- batch
	close(mints)
	wait.Wait()
	var hash Hash
	tokens := 0
	for i := range parts {
		hash.Combine(&parts[i])
		tokens += counts[i]
	}
	return hash, tokens
}
