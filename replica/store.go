package replica

import (
	"sync"
	"time"
	"unsafe"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/liveroot"
	"github.com/mintlake/mintlake/replica/memory"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/replica/search"
)

// loadingChanges are gathered before they go to the index and the listeners while loading. Every
// change holds a token.
const loadingChanges = 4_096

// store folds facts and publishes tokens. It keeps states only, packed; tokens are made of them
// when somebody asks. Folding is one goroutine's at a time; lookups go on meanwhile and take no
// lock.
type store struct {
	index     search.Index
	listeners []Listener
	shared    *packed.Shared
	// table holds the packed state of each mint, marked if it is a member. It is written under mu.
	table        *memory.Table
	readers      sync.Pool // of *packed.Reader
	tokenReaders sync.Pool // of *tokenReader
	volumes      volumes

	mu      sync.Mutex
	fold    folder
	tracker *liveroot.Tracker
	live    bool
	// rootless leaves the root out: benchmarks tell what it costs.
	rootless bool
	pending  []search.Change
	turn     pause.Turn // of the fold, see takeTurns
	// to who makes pending changes visible while a snapshot loads; else nil
	told chan<- []search.Change

	// base says that the root needs one.
	base chan struct{}
}

func newStore(index search.Index, listeners []Listener) *store {
	shared := packed.NewShared()
	s := &store{
		index: index, listeners: listeners, shared: shared, table: memory.New(), fold: newFolder(shared), base: make(chan struct{}, 1),
	}
	s.tracker = liveroot.NewTracker(shared, liveroot.Config{Every: root.SealEvery, State: s.appendState})
	s.readers.New = func() any { return packed.NewReader(shared) }
	s.tokenReaders.New = func() any { return &tokenReader{reader: packed.NewReader(shared)} }
	return s
}

// folder is what changing a state needs, for one goroutine at a time.
type folder struct {
	reader *packed.Reader
	writer *packed.Writer
	// before and after are the packed state.
	before, after []byte
	groups        groups
}

func newFolder(shared *packed.Shared) folder {
	return folder{reader: packed.NewReader(shared), writer: packed.NewWriter(shared)}
}

// takeTurns says how long the fold may keep a core that requests want; 0: as long as it gets it.
func (s *store) takeTurns(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = pause.NewTurn(length)
}

// apply folds facts in and makes every mint that they change visible once.
func (s *store) apply(facts []registry.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, group := range s.fold.groups.of(facts) {
		if key, ok := packed.ParseKey(group[0].Mint); ok { // every decoder sees to that
			s.change(s.table.Add(&key), group)
		}
		s.turn.Next()
	}
	if s.live || len(s.pending) >= loadingChanges {
		s.flush()
	}
}

// change folds facts about one mint into its state.
func (s *store) change(number uint32, facts []registry.Fact) {
	f, mint := &s.fold, facts[0].Mint
	f.before = s.appendState(f.before[:0], number)
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
		if state.Apply(facts[i]) {
			changed, same = true, same && !isSearched(facts[i].Register)
		}
	}
	if !changed {
		return
	}
	if len(f.before) > 0 {
		f.after = f.writer.AppendChanged(f.after[:0], mint, state.Facts(), f.reader)
	} else {
		f.after = f.writer.Append(f.after[:0], mint, state.Facts())
	}
	was, member := s.table.IsMarked(number), state.Member(mint)
	s.table.Put(number, f.after, member)
	if !member && !was {
		return
	}
	change := search.Change{ID: number, Mint: mint, Same: same && was && member}
	if member && !change.Same {
		token, _ := state.Token(mint)
		s.volumes.show(number, &token)
		change.Token, change.Extensions = &token, state.Extensions()
	}
	s.pending = append(s.pending, change)
}

// isSearched says that a change of the register may change what search.Change.Same is about.
func isSearched(register registry.Register) bool {
	return register != registry.RegisterSupply && register != registry.RegisterSupplyDelta && register != registry.RegisterLastSeen
}

// appendState appends the packed state of a mint.
func (s *store) appendState(dst []byte, number uint32) []byte {
	s.table.Read(number, func(value []byte, _ bool) { dst = append(dst, value...) })
	return dst
}

// flush makes what is pending visible. It needs mu.
func (s *store) flush() {
	changes := s.pending
	s.pending = nil
	if s.told != nil {
		s.told <- changes
		return
	}
	s.show(changes)
}

// show is called by one goroutine at a time.
func (s *store) show(changes []search.Change) {
	s.showTo(s.index, s.volumes.ranked(changes))
	for _, listener := range s.listeners {
		s.turn.Next()
		s.showTo(listener, changes)
	}
}

func (s *store) showTo(who Listener, changes []search.Change) {
	if filler, ok := who.(Filler); ok && !s.live {
		filler.Fill(changes)
	} else {
		who.Apply(changes)
	}
}

// goLive publishes what loading has gathered; from now on every apply is visible when it returns.
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

// lookup returns the token of a member, or nil.
func (s *store) lookup(mint string) *registry.Token {
	key, ok := packed.ParseKey(mint)
	if !ok {
		return nil
	}
	number, ok := s.table.Find(&key)
	if !ok {
		return nil
	}
	return s.tokenOf(number, &key, nil)
}

// token is nil when the mint of that number is not a member (any more).
func (s *store) token(number uint32) *registry.Token {
	key, ok := s.table.Key(number)
	if !ok {
		return nil
	}
	return s.tokenOf(number, &key, nil)
}

// tokenOf tells the kinds of the token's extensions too, if extensions is not nil.
func (s *store) tokenOf(number uint32, key *packed.Key, extensions *[]string) (found *registry.Token) {
	reader := s.readers.Get().(*packed.Reader) // the pool makes no other
	defer s.readers.Put(reader)
	mint := key.String()
	s.table.Read(number, func(value []byte, member bool) {
		if member {
			state := registry.StateOf(reader.Facts(mint, value))
			token, _ := state.Token(mint)
			s.volumes.show(number, &token)
			found = &token
			if extensions != nil {
				*extensions = state.Extensions()
			}
		}
	})
	return found
}

// tokenReader makes one token after the other in the same memory.
type tokenReader struct {
	reader *packed.Reader
	mint   []byte
	room   registry.TokenBuffer
	token  registry.Token
}

// withToken calls use with the token of a row id. It returns false, and does not call use, if the
// mint is not a member (any more). The token and its strings are valid until use returns: a page of
// rows that is made this way leaves nothing for the garbage collector.
func (s *store) withToken(number uint32, use func(token *registry.Token)) (member bool) {
	key, ok := s.table.Key(number)
	if !ok {
		return false
	}
	l := s.tokenReaders.Get().(*tokenReader) // the pool makes no other
	defer s.tokenReaders.Put(l)
	l.mint = key.Append(l.mint[:0])
	mint := unsafe.String(unsafe.SliceData(l.mint), len(l.mint)) //nolint:gosec // valid until use returns
	s.table.Read(number, func(value []byte, marked bool) {
		if member = marked; member {
			state := registry.StateOf(l.reader.ReusedFacts(mint, value))
			l.token, _ = state.TokenIn(mint, &l.room)
			s.volumes.show(number, &l.token)
		}
	})
	if member {
		use(&l.token)
	}
	return member
}

// id is the number of a member.
func (s *store) id(mint string) (uint32, bool) {
	key, ok := packed.ParseKey(mint)
	if !ok {
		return 0, false
	}
	number, ok := s.table.Find(&key)
	return number, ok && s.table.IsMarked(number)
}

func (s *store) extensions(number uint32) (kinds []string) {
	reader := s.readers.Get().(*packed.Reader) // the pool makes no other
	defer s.readers.Put(reader)
	s.table.Read(number, func(value []byte, _ bool) {
		state := registry.StateOf(reader.Facts("", value))
		kinds = state.Extensions()
	})
	return kinds
}
