package replica

import (
	"context"
	"sync"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// loadedAtOnce is how many mints a loader packs before it takes the store's lock and puts them into
// the table.
const loadedAtOnce = 512

// loaders fold a snapshot into the store. add may be called on several goroutines at the same time.
// The expensive work, making tokens and packing states, is done without a lock.
type loaders struct {
	store *store
	mu    sync.Mutex
	idle  []*loader
}

// loader packs the states of some mints. It is for one goroutine at a time.
type loader struct {
	store   *store
	writer  *packed.Writer
	facts   []registry.Fact // buffer of add
	packed  []byte
	mints   []loaded
	highest uint64 // slot of any fact
}

// loaded is a mint with its state in packed[from:to]. token is nil if it is not a member.
type loaded struct {
	mint       pubkey.Key
	from, to   int
	token      *registry.Token
	extensions []string
}

// load reads a snapshot. It folds facts about mints that are known already, so that a load that
// failed half-way can be repeated.
func (s *store) load(ctx context.Context, snapshot Snapshot) error {
	l := &loaders{store: s}
	// One goroutine publishes changes in order, while the loaders go on packing. The channel holds
	// one batch, so that they are never far ahead.
	changed := make(chan []Change, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for changes := range changed {
			s.show(changes)
		}
	}()
	s.mu.Lock()
	s.flush() // what was pending before comes first
	s.loaded = changed
	s.mu.Unlock()
	err := snapshot.Load(ctx, nil, l.add)
	for _, each := range l.idle {
		each.commit()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	close(changed)
	s.loaded = nil
	<-done
	return err
}

func (l *loaders) add(mint pubkey.Key, facts []registry.Fact) {
	each := l.take()
	each.add(mint, facts)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, each)
}

// take returns an idle loader, or a new one.
func (l *loaders) take() *loader {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.idle) - 1
	if last < 0 {
		return &loader{store: l.store, writer: packed.NewWriter(l.store.shared)}
	}
	each := l.idle[last]
	l.idle = l.idle[:last]
	return each
}

// add packs a mint, and commits when loadedAtOnce mints are packed.
func (l *loader) add(mint pubkey.Key, facts []registry.Fact) {
	if len(facts) == 0 {
		return
	}
	state := registry.StateOf(l.facts[:0])
	for i := range facts {
		state.Apply(facts[i])
	}
	l.facts = state.Facts()
	from := len(l.packed)
	l.packed = l.writer.Append(l.packed, mint, l.facts)
	item := loaded{mint: mint, from: from, to: len(l.packed)}
	if token, member := state.Token(mint); member {
		item.token, item.extensions = &token, state.Extensions()
	}
	l.mints = append(l.mints, item)
	l.highest = max(l.highest, root.Highest(facts))
	if len(l.mints) == loadedAtOnce {
		l.commit()
	}
}

// commit makes the mints packed so far part of the store.
func (l *loader) commit() {
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracker.Raise(l.highest)
	for i := range l.mints {
		item := &l.mints[i]
		number := s.table.add(item.mint)
		value := l.packed[item.from:item.to]
		if len(s.appendState(nil, number)) > 0 { // known from an earlier attempt
			s.change(number, packed.NewReader(s.shared).Facts(item.mint, value))
			continue
		}
		s.table.put(number, value, item.token != nil)
		if item.token != nil {
			s.volumes.show(number, item.token)
			s.pending = append(s.pending, Change{Row: Row{ID: number, Mint: item.mint, Token: item.token, Extensions: item.extensions}})
		}
	}
	clear(l.mints)
	l.mints, l.packed = l.mints[:0], l.packed[:0]
	if len(s.pending) >= loadingChanges {
		s.flush()
	}
}
