// Package liveroot keeps the root of a registry while facts arrive.
//
// In: the facts of mints, as they are folded. Out: the root at a slot (registry/root). Guarantees:
// pure. The root of a slot is the one that replaying the log up to that slot gives, whatever came
// in between, in whatever order.
package liveroot

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Config of a Tracker.
type Config struct {
	// Every is the distance of the slots that are sealed: Seal is called with its multiples and, at
	// any time, with Highest.
	Every uint64
	// State appends the packed state of a mint, by its number, as it is now: with all facts of
	// earlier calls of Change.
	State func(dst []byte, number uint32) []byte
}

// Tracker keeps the root of a registry while facts arrive. It does not fold them: the caller does.
// It is for one goroutine at a time.
//
// Cost: the first time that a mint changes after a seal, its packed state is copied. Further
// changes cost nothing until the next slot is sealed; then its element is hashed and put into the
// tree. If there are facts of slots after the one that is sealed next, the state in between is
// copied too. Seal itself only notes the work. Work does it, in as many parts as the caller likes,
// and facts may come between them.
type Tracker struct {
	cfg    Config
	reader *packed.Reader
	writer *packed.Writer

	// tree is nil while it is not known, and while it is empty.
	tree    *root.Tree
	known   bool
	rebased int
	highest uint64

	// holding: facts of slots after sealed stay out of the root until a later Seal. wanted is the
	// slot to seal once the base is known.
	holding        bool
	sealed, wanted uint64

	dirty changes
	// due are the numbers of mints whose state at the sealed slot may not be the tree's. Some may
	// have been settled since.
	due []uint32
	now []byte // buffer of settle
}

// maxDirty is how many changed mints may wait for a seal, at 300 to 500 bytes each. One more, and
// the tracker is rebased: the whole tree is made anew.
const maxDirty = 1 << 19

// NewTracker returns a tracker of an empty registry. States are packed with shared.
func NewTracker(shared *packed.Shared, cfg Config) *Tracker {
	return &Tracker{cfg: cfg, reader: packed.NewReader(shared), writer: packed.NewWriter(shared), known: true}
}

// Change must be called with facts about a mint before they are folded. state is the mint's packed
// state without them; Change copies what it keeps. The facts need not change the state.
func (t *Tracker) Change(number uint32, mint pubkey.Key, state []byte, facts []registry.Fact) {
	c := t.dirty.of(number)
	if c != nil && c.sealed {
		t.settle(c)
		c = t.dirty.of(number)
	}
	for i := range facts {
		if !root.Counts(facts[i].Register) {
			continue
		}
		slot := root.SlotOf(&facts[i])
		t.highest = max(t.highest, slot)
		if c == nil {
			if t.dirty.count >= maxDirty {
				t.Rebase()
			}
			c = t.dirty.begin(number, mint, state)
			c.top = t.sealed
		}
		// If the facts before this one wait for the same seal, place has done its work for them.
		if bound := t.bound(slot); bound != c.top || bound == t.sealed && !c.late {
			t.place(c, mint, bound, state, facts[:i], &facts[i])
		}
	}
}

// bound returns the lowest slot whose seal brings a fact of the given slot into the root. It is
// t.sealed if the fact need not wait for a later seal.
func (t *Tracker) bound(slot uint64) uint64 {
	if !t.holding || slot <= t.sealed {
		return t.sealed
	}
	if floor := t.floor(slot); floor <= root.EverySlot-t.cfg.Every {
		return floor + t.cfg.Every
	}
	return root.EverySlot
}

// floor returns the highest slot that may be sealed without a fact of this slot: the multiple of
// Every below it. slot must not be 0.
func (t *Tracker) floor(slot uint64) uint64 { return (slot - 1) / t.cfg.Every * t.cfg.Every }

// place keeps the states that later seals need and that would be lost when the fact is folded. It
// lists the mint's state at the last seal before the fact, unless that is the root's state or is
// listed. It adds the fact to the listed states of bound and of later slots. earlier are the facts
// before it in the batch, which state lacks too.
func (t *Tracker) place(c *change, mint pubkey.Key, bound uint64, state []byte, earlier []registry.Fact, fact *registry.Fact) {
	list, changed := t.dirty.betweens(c), false
	floor := t.sealed
	switch {
	case bound > t.sealed:
		floor = max(floor, t.floor(root.SlotOf(fact)))
	case !c.late:
		if c.top > t.sealed {
			list, changed = slices.Insert(list, 0, between{t.sealed, t.dirty.bytes.get(c.before)}), true
		}
		c.late = true
		t.due = append(t.due, c.number)
	}
	if bound > t.sealed && (floor > t.sealed || c.late) {
		at, found := find(list, floor)
		if !found {
			kept := between{slot: floor}
			if at < len(list) {
				kept.state = list[at].state
			} else {
				kept.state = t.with(mint, state, earlier)
			}
			list, changed = slices.Insert(list, at, kept), true
		}
	}
	for i := range list {
		if b := &list[i]; b.slot >= bound && bound < max(c.top, b.slot+1) {
			b.state, changed = t.with(mint, b.state, []registry.Fact{*fact}), true
		}
	}
	if changed {
		t.dirty.setBetweens(c, list)
	}
	c.top = max(c.top, bound)
}

// find returns the index in list of the state at a slot, or where it belongs, and whether it is
// there.
func find(list []between, slot uint64) (int, bool) {
	return slices.BinarySearchFunc(list, slot, func(b between, slot uint64) int { return cmp.Compare(b.slot, slot) })
}

// with returns a packed state with some more facts folded in.
func (t *Tracker) with(mint pubkey.Key, state []byte, facts []registry.Fact) []byte {
	if len(facts) == 0 {
		return state
	}
	folded := t.unpack(mint, state)
	for i := range facts {
		folded.Apply(facts[i])
	}
	return t.writer.Append(nil, mint, folded.Facts())
}

func (t *Tracker) unpack(mint pubkey.Key, state []byte) (unpacked registry.State) {
	if len(state) > 0 {
		unpacked = registry.StateOf(t.reader.Facts(mint, state))
	}
	return unpacked
}

// Unpack reads the part of a packed state that the root's element is made of. The result is valid
// until the reader's next use.
func Unpack(reader *packed.Reader, mint pubkey.Key, state []byte) (unpacked registry.State) {
	if len(state) > 0 {
		unpacked = registry.StateOf(reader.FactsUpTo(mint, state, registry.RegisterExtension))
	}
	return unpacked
}

// Raise raises Highest to slot, for facts that Change is not called with because a Rebase will
// follow.
func (t *Tracker) Raise(slot uint64) { t.highest = max(t.highest, slot) }

// Rebase starts anew from the registry as it is now, with all its facts. The root stands at the
// highest slot of any fact, and is not known until SetBase brings its tree. Later facts wait for
// Seal.
func (t *Tracker) Rebase() {
	t.tree, t.known = nil, false
	t.rebased++
	t.holding, t.sealed, t.wanted = true, t.highest, t.highest
	t.dirty = changes{}
	t.due = nil
}

// Known returns whether the root is known. It is not between Rebase and SetBase.
func (t *Tracker) Known() bool { return t.known }

// Rebased returns how often Rebase was called: a base that was begun before the last call is
// useless.
func (t *Tracker) Rebased() int { return t.rebased }

// Base returns the packed state of a mint as it was at Rebase, if it has changed since; false if it
// has not. It is valid until the tracker's next use.
func (t *Tracker) Base(number uint32) ([]byte, bool) {
	if c := t.dirty.of(number); c != nil {
		return t.dirty.bytes.get(c.before), true
	}
	return nil, false
}

// SetBase gives the tracker the tree of the registry as it was at Rebase. It has the mints under
// the numbers that Change is called with.
func (t *Tracker) SetBase(tree *root.Tree) {
	t.tree, t.known = tree, true
	t.Seal(t.wanted)
}

// Seal moves the root to a slot: a multiple of Every, or any slot from Highest on. Every fact of
// the slots up to it must have been applied; a fact that comes late still counts. From the first
// call on, the root leaves out facts of later slots, so that a node that never stops applying facts
// has the exact root of a slot. Facts applied before the first call stay in, so the first sealed
// slot is at least the highest of theirs. A slot below the one sealed changes nothing.
//
// Seal is quick: the root is there when Work has done the rest.
func (t *Tracker) Seal(slot uint64) {
	if !t.holding {
		t.holding, t.sealed = true, max(slot, t.highest)
		t.dueAll()
		return
	}
	t.wanted = max(t.wanted, slot)
	if !t.known || slot <= t.sealed {
		return
	}
	t.sealed = slot
	t.dueAll()
}

// dueAll makes all changed mints due.
func (t *Tracker) dueAll() {
	t.due = t.due[:0]
	for c := range t.dirty.all() {
		c.sealed = true
		t.due = append(t.due, c.number)
	}
}

// Work brings the root to the sealed slot, with the facts that came late. It does limit steps at
// most, of a microsecond or two each, and returns whether nothing is left to do. While the base is
// not known it does nothing and returns true: Base must still return the states at Rebase.
func (t *Tracker) Work(limit int) bool {
	if !t.known {
		return true
	}
	for ; limit > 0 && len(t.due) > 0; limit-- {
		last := len(t.due) - 1
		c := t.dirty.of(t.due[last])
		t.due = t.due[:last]
		if c != nil && (c.late || c.sealed) { // else it was settled since
			t.settle(c)
		}
	}
	return len(t.due) == 0 && (t.tree == nil || t.tree.Work(limit))
}

// Root does the work that is left and returns the root: at the sealed slot or, before the first
// Seal, at the highest slot of any fact. It means nothing while Known is false.
func (t *Tracker) Root() root.Root {
	for !t.Work(math.MaxInt) {
	}
	slot := t.highest
	if t.holding {
		slot = t.sealed
	}
	if t.tree == nil {
		t.tree = root.NewTree()
	}
	return t.tree.Root(slot)
}

// Highest returns the highest slot of any fact applied, in the root or not: sealing it brings every
// fact in, as when a source is done.
func (t *Tracker) Highest() uint64 { return t.highest }

// settle gives the tree a mint's state at the sealed slot: the first listed state at or after that
// slot, or the present state if none is listed. place lists the state before each fact that waits
// for a later seal, so no such fact lies between. settle ends the change if no later state is left.
func (t *Tracker) settle(c *change) {
	list := t.dirty.betweens(c) // its states at some slots, but not its present one
	at, found := find(list, t.sealed)
	state := t.now[:0]
	if at < len(list) {
		state = append(state, list[at].state...)
	} else {
		state = t.cfg.State(state, c.number)
	}
	t.now = state
	if !bytes.Equal(t.dirty.bytes.get(c.before), state) {
		mint := c.mint
		unpacked := Unpack(t.reader, mint, state)
		if t.tree == nil {
			t.tree = root.NewTree()
		}
		t.tree.Put(c.number, mint, &unpacked)
	}
	// No state is listed, and no fact of this mint waits for a later seal.
	if at == len(list) && (c.top <= t.sealed || t.sealed >= t.highest) {
		t.dirty.end(c)
		return
	}
	t.dirty.setBefore(c, state)
	c.late, c.sealed = false, false
	// The states up to the sealed slot are not needed any more.
	if found {
		at++
	}
	if at > 0 {
		t.dirty.setBetweens(c, list[at:])
	}
}
