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
)

// Config of a Tracker.
type Config struct {
	// Every is the distance of the slots that are sealed: their multiples, and at any time Highest.
	Every uint64
	// State appends the packed state of a mint, by its number, as it is now: with all that Change
	// heard of.
	State func(dst []byte, number uint32) []byte
}

// Tracker keeps the root of a registry while facts arrive, beside whoever folds them. It is for one
// goroutine at a time.
//
// Cost: when a mint changes for the first time behind a sealed slot, its packed state is copied;
// nothing else is done, whatever else is said of it, until the next slot is sealed. Then its
// element is hashed and put into the tree. If facts come of slots behind the one to be sealed next,
// the state between is copied too. Sealing itself only notes what is to be done: Work does it, in
// as many parts as the caller likes, between which facts may come.
type Tracker struct {
	cfg    Config
	reader *packed.Reader
	writer *packed.Writer

	// tree is nil while it is not known, and as long as there is nothing in it.
	tree    *root.Tree
	known   bool
	rebased int
	highest uint64

	// holding: facts behind sealed wait until a later Seal; wanted is the slot to seal as soon as
	// the base is known.
	holding        bool
	sealed, wanted uint64

	dirty changes
	// due are those of dirty that may have another state at the sealed slot than the tree has, or
	// were such.
	due []uint32 // numbers
	now []byte
}

// maxDirty mints wait for a slot to be sealed at most, some 300 to 500 bytes each. Beyond, the root
// is made anew.
const maxDirty = 1 << 19

// NewTracker returns a tracker of an empty registry. States are packed with shared.
func NewTracker(shared *packed.Shared, cfg Config) *Tracker {
	return &Tracker{cfg: cfg, reader: packed.NewReader(shared), writer: packed.NewWriter(shared), known: true}
}

// Change hears of facts about a mint before they are folded in, state being the mint's packed state
// without them; it is copied where it is kept. Whether the facts change the state does not matter.
func (t *Tracker) Change(number uint32, mint string, state []byte, facts []registry.Fact) {
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
		if bound := t.bound(slot); bound != c.top || bound == t.sealed && !c.late {
			t.place(c, mint, bound, state, facts[:i], &facts[i])
		}
	}
}

// bound is the slot at which a fact of this slot is in for the first time. What is not held is in
// at once.
func (t *Tracker) bound(slot uint64) uint64 {
	if !t.holding || slot <= t.sealed {
		return t.sealed
	}
	if floor := t.floor(slot); floor <= root.EverySlot-t.cfg.Every {
		return floor + t.cfg.Every
	}
	return root.EverySlot
}

// floor is the highest slot that may be sealed without a fact of this slot, which is not 0: the
// multiple below.
func (t *Tracker) floor(slot uint64) uint64 { return (slot - 1) / t.cfg.Every * t.cfg.Every }

// place keeps what a fact of a bound that is not the latest one's would make unknown: the state at
// the bound before (if that is not what the root knows, or what is kept already), and the states
// from its own bound on without it. earlier are the facts in front of it that state lacks.
func (t *Tracker) place(c *change, mint string, bound uint64, state []byte, earlier []registry.Fact, fact *registry.Fact) {
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

// find is where the state at a slot is among those between, or belongs.
func find(list []between, slot uint64) (int, bool) {
	return slices.BinarySearchFunc(list, slot, func(b between, slot uint64) int { return cmp.Compare(b.slot, slot) })
}

// with is a packed state with some facts more.
func (t *Tracker) with(mint string, state []byte, facts []registry.Fact) []byte {
	if len(facts) == 0 {
		return state
	}
	folded := t.unpack(mint, state)
	for i := range facts {
		folded.Apply(facts[i])
	}
	return t.writer.Append(nil, mint, folded.Facts())
}

func (t *Tracker) unpack(mint string, state []byte) (unpacked registry.State) {
	if len(state) > 0 {
		unpacked = registry.StateOf(t.reader.Facts(mint, state))
	}
	return unpacked
}

// Unpack reads as much of a packed state as an element is made of. What it returns holds until the
// reader's next use.
func Unpack(reader *packed.Reader, mint string, state []byte) (unpacked registry.State) {
	if len(state) > 0 {
		unpacked = registry.StateOf(reader.FactsUpTo(mint, state, registry.RegisterExtension))
	}
	return unpacked
}

// Raise hears of the highest slot of facts that Change is not told of, because a Rebase will
// follow.
func (t *Tracker) Raise(slot uint64) { t.highest = max(t.highest, slot) }

// Rebase forgets everything: the registry is another one now, all facts of which are in. The root
// stands at the highest slot of any, and is not known until SetBase says what of; facts from here
// on wait for Seal.
func (t *Tracker) Rebase() {
	t.tree, t.known = nil, false
	t.rebased++
	t.holding, t.sealed, t.wanted = true, t.highest, t.highest
	t.dirty = changes{}
	t.due = nil
}

// Known says that the root can be told: no base is waited for.
func (t *Tracker) Known() bool { return t.known }

// Rebased is how often Rebase was called: a base that was begun before the last time is of no use.
func (t *Tracker) Rebased() int { return t.rebased }

// Base is the packed state of a mint as it was at Rebase, if it has changed since; false if it is
// now what it was. It holds until the tracker's next use.
func (t *Tracker) Base(number uint32) ([]byte, bool) {
	if c := t.dirty.of(number); c != nil {
		return t.dirty.bytes.get(c.before), true
	}
	return nil, false
}

// SetBase gives the tracker a tree with the elements of the registry as it was at Rebase, by the
// numbers that Change is told.
func (t *Tracker) SetBase(tree *root.Tree) {
	t.tree, t.known = tree, true
	t.Seal(t.wanted)
}

// Seal moves the root to a slot, a multiple of Every or what Highest says or is above. From the
// first call on the root leaves out what is behind the slot sealed last: so a node that is fed on
// and on can say the exact root of a slot. It must be called when every fact of the slots up to
// this one has been applied; what arrives late still counts. Facts applied before the first call
// stay in, so the first slot is moved up to the highest among theirs. A slot below the one sealed
// already changes nothing.
//
// It is quick: the root is there when Work has done the rest.
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

// dueAll says that all that changed is to be brought to the sealed slot.
func (t *Tracker) dueAll() {
	t.due = t.due[:0]
	for c := range t.dirty.all() {
		c.sealed = true
		t.due = append(t.due, c.number)
	}
}

// Work brings the root to the sealed slot with all facts that came late, and says whether nothing
// is left to do. It takes at most so many steps of a microsecond or two. Before the base is known
// it waits: Base must still say how things were.
func (t *Tracker) Work(limit int) bool {
	if !t.known {
		return true
	}
	for ; limit > 0 && len(t.due) > 0; limit-- {
		last := len(t.due) - 1
		c := t.dirty.of(t.due[last])
		t.due = t.due[:last]
		if c != nil && (c.late || c.sealed) { // else it is settled, and may be over
			t.settle(c)
		}
	}
	return len(t.due) == 0 && (t.tree == nil || t.tree.Work(limit))
}

// Root is the root as of now, for which all the work is done: at the sealed slot or, before the
// first Seal, at the highest slot of any fact. Where Known is false it means nothing.
func (t *Tracker) Root() root.Root {
	for !t.Work(math.MaxInt) {
	}
	slot := t.highest
	if t.holding {
		slot = t.sealed
	}
	if t.tree == nil {
		t.tree = root.NewTree(nil)
	}
	return root.Root{Slot: slot, Tokens: t.tree.Len(), Hash: t.tree.Sum()}
}

// Highest is the highest slot of any fact applied, in the root or not: sealing it brings everything
// in, as when a source is done.
func (t *Tracker) Highest() uint64 { return t.highest }

// settle gives the tree a mint's state at the sealed slot, and leaves the rest.
func (t *Tracker) settle(c *change) {
	list := t.dirty.betweens(c)
	at, found := find(list, t.sealed)
	state := t.now[:0]
	if at < len(list) {
		state = append(state, list[at].state...)
	} else {
		state = t.cfg.State(state, c.number)
	}
	t.now = state
	if !bytes.Equal(t.dirty.bytes.get(c.before), state) {
		mint := string(t.dirty.bytes.get(c.mint))
		unpacked := Unpack(t.reader, mint, state)
		if t.tree == nil {
			t.tree = root.NewTree(nil)
		}
		t.tree.Put(c.number, mint, &unpacked)
	}
	if at == len(list) && (c.top <= t.sealed || t.sealed >= t.highest) {
		t.dirty.end(c)
		return
	}
	t.dirty.setBefore(c, state)
	c.late, c.sealed = false, false
	if found {
		at++
	}
	if at > 0 {
		t.dirty.setBetweens(c, list[at:])
	}
}
