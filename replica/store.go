package replica

import (
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/liveroot"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// loadingChanges is how many changes are gathered while the copy loads before the index and the
// listeners get them. It bounds the memory: each change holds a token.
const loadingChanges = 4_096

// index is what the store needs of search.Inverted.
type index interface {
	Apply(documents []search.Document)
	Fill(documents []search.Document)
	Filled()
}

// store folds facts into states, and gives what changed to the index and the listeners. It keeps
// only packed states; a token is unpacked when it is asked for. mu lets one goroutine fold at a
// time. Lookups do not take mu.
type store struct {
	index      index
	listeners  []Listener
	shared     *packed.Shared
	table      *table    // written under mu
	rowReaders sync.Pool // of *rowReader
	volumes    volumes
	holders    holders

	mu      sync.Mutex
	fold    folder
	tracker *liveroot.Tracker
	live    bool
	// rootless switches the root off, so that a benchmark can measure what it costs.
	rootless bool
	pending  []Change
	turn     pause.Turn // of the fold, see setTurn
	// loaded is the channel to the goroutine that publishes changes while a snapshot loads; nil at
	// other times.
	loaded chan<- []Change

	// baseWanted holds a value when the tracker needs a base tree, see wantBase.
	baseWanted chan struct{}
}

func newStore(index index, listeners []Listener) *store {
	shared := packed.NewShared()
	s := &store{
		index: index, listeners: listeners, shared: shared, table: newTable(), fold: newFolder(shared), baseWanted: make(chan struct{}, 1),
	}
	s.tracker = liveroot.NewTracker(shared, liveroot.Config{Every: root.SealEvery, State: s.appendState})
	s.rowReaders.New = func() any { return &rowReader{reader: packed.NewReader(shared)} }
	return s
}

// folder has the buffers for folding facts into a state. It is for one goroutine at a time.
type folder struct {
	reader *packed.Reader
	writer *packed.Writer
	// before and after are buffers for a mint's packed state.
	before, after []byte
	groups        groups
}

func newFolder(shared *packed.Shared) folder {
	return folder{reader: packed.NewReader(shared), writer: packed.NewWriter(shared)}
}

// setTurn sets how long the fold runs before it yields the processor to waiting requests; 0: it
// does not yield.
func (s *store) setTurn(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = pause.NewTurn(length)
}

// apply folds facts. If several facts change one mint, readers see that mint change once, with all
// of them. apply returns the mints that must be folded again, see registry.State.TakesBack.
func (s *store) apply(facts []registry.Fact) (takenFrom []pubkey.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, group := range s.fold.groups.of(facts) {
		if s.change(s.table.add(group[0].Mint), group) {
			takenFrom = append(takenFrom, group[0].Mint)
		}
		s.turn.Next()
	}
	if s.live || len(s.pending) >= loadingChanges {
		s.flush()
	}
	return takenFrom
}

// change folds facts about one mint into its packed state. If the state changed, and the mint is a
// member or was one, it adds the change to pending. It returns whether the mint must be folded
// again, because a retraction took facts from it.
func (s *store) change(number uint32, facts []registry.Fact) (takenFrom bool) {
	f, mint := &s.fold, facts[0].Mint
	retractionsFirst(facts)
	var wasMember bool
	f.before, wasMember = s.table.append(f.before[:0], number)
	if s.live && !s.rootless {
		s.tracker.Change(number, mint, f.before, facts)
		s.wantBase()
	} else {
		s.tracker.Raise(root.Highest(facts))
	}
	var state registry.State
	if len(f.before) > 0 {
		state = registry.StateOf(f.reader.Facts(mint, f.before))
	}
	changed, same := false, true
	for i := range facts {
		takenFrom = takenFrom || state.TakesBack(&facts[i])
		if state.Apply(facts[i]) {
			changed, same = true, same && !isSearched(facts[i].Register)
		}
	}
	if !changed {
		return takenFrom
	}
	if len(f.before) > 0 {
		f.after = f.writer.AppendChanged(f.after[:0], mint, state.Facts(), f.reader)
	} else {
		f.after = f.writer.Append(f.after[:0], mint, state.Facts())
	}
	member := state.Member(mint)
	s.table.put(number, f.after, member)
	if !member && !wasMember {
		return takenFrom
	}
	change := Change{Row: Row{ID: number, Mint: mint}, Was: wasMember, Same: same && wasMember && member}
	if member && !change.Same {
		token, _ := state.Token(mint)
		s.volumes.show(number, &token)
		change.Token, change.Extensions = &token, state.Extensions()
	}
	s.pending = append(s.pending, change)
	return takenFrom
}

// retractionsFirst moves retractions before the other facts. Otherwise a fact that one of them
// takes back could replace an older fact first, which would then be lost.
func retractionsFirst(facts []registry.Fact) {
	isRetraction := func(fact registry.Fact) bool { return fact.Register == registry.RegisterRetraction }
	if slices.ContainsFunc(facts, isRetraction) {
		slices.SortStableFunc(facts, func(a, b registry.Fact) int {
			switch {
			case isRetraction(a) == isRetraction(b):
				return 0
			case isRetraction(a):
				return -1
			default:
				return 1
			}
		})
	}
}

// isSearched returns whether tokens are searched or compared by the register, see Change.Same.
func isSearched(register registry.Register) bool {
	return register != registry.RegisterSupply && register != registry.RegisterSupplyDelta && register != registry.RegisterLastSeen
}

// appendState appends the packed state of a mint; nothing if it has none.
func (s *store) appendState(dst []byte, number uint32) []byte {
	dst, _ = s.table.append(dst, number)
	return dst
}

// flush publishes the pending changes, itself or by the goroutine that does so while a snapshot
// loads. The caller holds mu.
func (s *store) flush() {
	changes := s.pending
	s.pending = nil
	if s.loaded != nil {
		s.loaded <- changes
		return
	}
	s.show(changes)
}

// show gives changes to the index and then to the listeners. One goroutine at a time may call it.
func (s *store) show(changes []Change) {
	documents := s.documentsOf(changes)
	if s.live {
		s.index.Apply(documents)
	} else {
		s.index.Fill(documents)
	}
	for _, listener := range s.listeners {
		s.turn.Next()
		if filler, ok := listener.(Filler); ok && !s.live {
			filler.Fill(changes)
		} else {
			listener.Apply(changes)
		}
	}
}

// documentsOf returns a document for each change that concerns the index. Its token has the volume
// that tokens are ranked by, which may differ from the one that the API shows.
func (s *store) documentsOf(changes []Change) []search.Document {
	documents := make([]search.Document, 0, len(changes))
	for i := range changes {
		change := &changes[i]
		if change.Same {
			continue
		}
		document := search.Document{ID: change.ID, Mint: change.Mint, Token: change.Token, Extensions: change.Extensions}
		if figures := s.volumes.of(change.ID); change.Token != nil && !same(figures.rank, figures.daily) {
			ranked := *change.Token
			ranked.DailyVolumeUSD = figures.rank
			document.Token = &ranked
		}
		documents = append(documents, document)
	}
	return documents
}

// goLive publishes the changes gathered while loading. From now on the changes of an apply are
// visible when it returns.
func (s *store) goLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	for _, listener := range s.listeners {
		if filler, ok := listener.(Filler); ok {
			filler.Filled()
		}
	}
	s.index.Filled()
	s.live = true
	s.tracker.Rebase()
	s.wantBase()
}

// tokenOf returns the token of the mint with that row id and key, or nil if it is not a member. If
// extensions is not nil, it is set to the kinds of the token's extensions.
func (s *store) tokenOf(number uint32, mint pubkey.Key, extensions *[]string) (found *registry.Token) {
	s.readState(number, mint, func(state *registry.State) {
		token, _ := state.Token(mint)
		s.volumes.show(number, &token)
		found = &token
		if extensions != nil {
			*extensions = state.Extensions()
		}
	})
	return found
}

// readState calls use with the state of a mint if it is a member. Otherwise it does nothing.
func (s *store) readState(number uint32, mint pubkey.Key, use func(state *registry.State)) {
	reader := s.rowReaders.Get().(*rowReader) // the pool's New makes nothing else
	defer s.rowReaders.Put(reader)
	var member bool
	if reader.packed, member = s.table.append(reader.packed[:0], number); member {
		state := registry.StateOf(reader.reader.Facts(mint, reader.packed))
		use(&state)
	}
}
