package replica

import (
	"context"
	"sync"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// loadedAtOnce mints are packed by one core before they go into the table, for which there is a
// lock.
const loadedAtOnce = 512

// loaders take a snapshot in, on as many cores as the snapshot comes from. What is expensive,
// making tokens and packing states, needs no lock.
type loaders struct {
	store *store
	mu    sync.Mutex
	idle  []*loader
}

// loader is one goroutine's at a time.
type loader struct {
	store   *store
	writer  *packed.Writer
	facts   []registry.Fact // room
	packed  []byte
	mints   []loaded
	highest uint64 // slot
}

// loaded is a mint with its state in packed[from:to]. The token is nil for no member.
type loaded struct {
	key        pubkey.Key
	from, to   int
	mint       string
	token      *registry.Token
	extensions []string
}

// load reads a snapshot. Facts about mints that are known already are folded in, so that a load
// which was cut short can be repeated.
func (s *store) load(ctx context.Context, snapshot Snapshot) error {
	l := &loaders{store: s}
	// The index and the listeners are told by a goroutine of their own, so that packing goes on
	// meanwhile; in order, and never far behind.
	told := make(chan []Change, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for changes := range told {
			s.show(changes)
		}
	}()
	s.mu.Lock()
	s.flush()
	s.told = told
	s.mu.Unlock()
	err := snapshot.Load(ctx, l.add)
	for _, each := range l.idle {
		each.commit()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	close(told)
	s.told = nil
	<-done
	return err
}

func (l *loaders) add(mint string, facts []registry.Fact) {
	each := l.take()
	each.add(mint, facts)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, each)
}

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

func (l *loader) add(mint string, facts []registry.Fact) {
	key, err := pubkey.Parse(mint)
	if err != nil || len(facts) == 0 {
		return
	}
	state := registry.StateOf(l.facts[:0])
	for i := range facts {
		state.Apply(facts[i])
	}
	l.facts = state.Facts()
	from := len(l.packed)
	l.packed = l.writer.Append(l.packed, mint, l.facts)
	item := loaded{key: key, from: from, to: len(l.packed), mint: mint}
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
		number := s.table.Add(&item.key)
		value := l.packed[item.from:item.to]
		if s.table.Version(number) != 0 { // known from an attempt before
			s.change(number, packed.NewReader(s.shared).Facts(item.mint, value))
			continue
		}
		s.table.Put(number, value, item.token != nil)
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
