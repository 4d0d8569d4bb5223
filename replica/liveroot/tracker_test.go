package liveroot_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/liveroot"
	"github.com/mintlake/mintlake/replica/packed"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

var mintA = pubkey.MustParse("So11111111111111111111111111111111111111113")

func at(slot uint64) schemas.Position { return schemas.Position{Slot: slot, Order: 1} }

func fact(register registry.Register, slot uint64, value string) registry.Fact {
	return registry.Fact{Mint: mintA, Register: register, Position: at(slot), Value: value}
}

func factsOf(messages []registrytest.Message) []registry.Fact {
	var facts []registry.Fact
	for _, message := range messages {
		facts = append(facts, message.Facts()...)
	}
	return facts
}

func fold(facts []registry.Fact) map[pubkey.Key]*registry.State {
	states := map[pubkey.Key]*registry.State{}
	for _, fact := range facts {
		if states[fact.Mint] == nil {
			states[fact.Mint] = new(registry.State)
		}
		states[fact.Mint].Apply(fact)
	}
	return states
}

// node is a registry with its root, as an API node keeps it: states are packed between changes.
type node struct {
	tracker *liveroot.Tracker
	reader  *packed.Reader
	writer  *packed.Writer
	numbers map[pubkey.Key]uint32
	states  map[pubkey.Key][]byte
}

func newNode(every uint64) *node {
	shared := packed.NewShared()
	n := &node{
		reader: packed.NewReader(shared), writer: packed.NewWriter(shared), numbers: map[pubkey.Key]uint32{}, states: map[pubkey.Key][]byte{},
	}
	n.tracker = liveroot.NewTracker(shared, liveroot.Config{Every: every, State: func(dst []byte, number uint32) []byte {
		for mint, of := range n.numbers {
			if of == number {
				dst = append(dst, n.states[mint]...)
			}
		}
		return dst
	}})
	return n
}

func (n *node) apply(facts ...registry.Fact) {
	for i := 0; i < len(facts); {
		mint := facts[i].Mint
		end := i + 1
		for end < len(facts) && facts[end].Mint == mint {
			end++
		}
		number, ok := n.numbers[mint]
		if !ok {
			number = uint32(len(n.numbers))
			n.numbers[mint] = number
		}
		n.tracker.Change(number, mint, n.states[mint], facts[i:end])
		state := n.state(mint)
		for ; i < end; i++ {
			state.Apply(facts[i])
		}
		n.states[mint] = n.writer.Append(nil, mint, state.Facts())
	}
}

func (n *node) state(mint pubkey.Key) *registry.State {
	if n.states[mint] == nil {
		return &registry.State{}
	}
	state := registry.StateOf(slices.Clone(n.reader.Facts(mint, n.states[mint])))
	return &state
}

func (n *node) folded() map[pubkey.Key]*registry.State {
	states := map[pubkey.Key]*registry.State{}
	for mint := range n.states {
		states[mint] = n.state(mint)
	}
	return states
}

// rebase is what a node does behind a load: the root of everything there is is made anew, while
// changes come in.
func (n *node) rebase(meanwhile ...registry.Fact) {
	n.tracker.Rebase()
	all := maps.Clone(n.numbers)
	n.apply(meanwhile...)
	tree := root.NewTree()
	for mint, number := range all {
		packed, ok := n.tracker.Base(number)
		if !ok {
			packed = n.states[mint]
		}
		state := liveroot.Unpack(n.reader, mint, packed)
		tree.Put(number, mint, &state)
	}
	n.tracker.SetBase(tree)
}

func replay(facts []registry.Fact, atSlot uint64) root.Root {
	r := root.NewReplay(atSlot)
	r.Apply(facts)
	return r.Root()
}

func messages(t *rapid.T) []registry.Fact {
	return factsOf(registrytest.Messages(60).Draw(t, "messages"))
}

// delivered are the facts as a log with retries may bring them: in any order, some of them again.
func delivered(t *rapid.T, facts []registry.Fact) []registry.Fact {
	again := slices.Clone(facts)
	for range rapid.IntRange(0, 5).Draw(t, "repeats") {
		if len(facts) > 0 {
			again = append(again, facts[rapid.IntRange(0, len(facts)-1).Draw(t, "repeated")])
		}
	}
	return rapid.Permutation(again).Draw(t, "order")
}

// hashes are those of both versions.
func hashes(r root.Root) [root.Versions]root.Sum { return [...]root.Sum{r.Hash, r.HashV2} }

func TestRootForgetsOrderRepeatsAndSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := messages(t)
		want := replay(facts, root.EverySlot)

		live := newNode(1)
		for _, fact := range delivered(t, facts) {
			live.apply(fact)
			if rapid.IntRange(0, 9).Draw(t, "asked in between") == 0 {
				live.tracker.Root()
			}
		}
		require.Equal(t, want, live.tracker.Root(), "shuffled and repeated")
		require.Equal(t, fold(facts), live.folded(), "the fold is not disturbed")

		// A node that loads the facts that hold, as from ClickHouse or a snapshot, and hears of a
		// part of them again.
		loaded := newNode(1)
		for _, state := range live.folded() {
			loaded.apply(state.Facts()...)
		}
		for _, fact := range facts[:rapid.IntRange(0, len(facts)).Draw(t, "overlap")] {
			loaded.apply(fact)
		}
		require.Equal(t, hashes(want), hashes(loaded.tracker.Root()), "loaded")

		// In parts of some of the mints each, one part after the other, as an import brings them.
		parts := map[byte][]registry.Fact{}
		for _, fact := range facts {
			part := fact.Mint[len(fact.Mint)-1] % 3
			parts[part] = append(parts[part], fact)
		}
		var built root.Builder
		inParts := newNode(1)
		for _, part := range parts {
			inParts.apply(part...)
			for mint, state := range fold(part) {
				built.Add(mint, state)
			}
		}
		require.Equal(t, hashes(want), hashes(inParts.tracker.Root()), "in parts")
		require.Equal(t, want, built.Root(want.Slot), "built")
	})
}

// TestSealedRootIsTheReplaysRoot: a live node's root at a slot, taken while facts of later and
// earlier slots come in, is the root that replaying the log up to that slot gives.
func TestSealedRootIsTheReplaysRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := delivered(t, messages(t))
		every := rapid.Uint64Range(1, 3).Draw(t, "every")
		live := newNode(every)
		begin := rapid.IntRange(0, len(facts)).Draw(t, "loaded before the first seal")
		live.apply(facts[:begin]...)
		sealed, holding := uint64(0), false
		for i := begin; i <= len(facts); i++ {
			if rapid.IntRange(0, 9).Draw(t, "seal") == 0 {
				slot := sealed/every*every + every*rapid.Uint64Range(0, 2).Draw(t, "forward")
				if rapid.IntRange(0, 5).Draw(t, "done") == 0 {
					slot = max(slot, live.tracker.Highest())
				}
				live.tracker.Seal(slot)
				if !holding {
					for _, fact := range facts[:i] {
						if root.Counts(fact.Register) {
							slot = max(slot, root.SlotOf(&fact))
						}
					}
				}
				sealed, holding = max(sealed, slot), true
			}
			if holding && rapid.IntRange(0, 19).Draw(t, "rebase") == 0 {
				meanwhile := facts[i:min(i+rapid.IntRange(0, 5).Draw(t, "meanwhile"), len(facts))]
				sealed = live.tracker.Highest()
				live.rebase(meanwhile...)
				i += len(meanwhile)
			}
			// some of what a seal leaves to do, before more facts come
			if rapid.Bool().Draw(t, "work") {
				live.tracker.Work(rapid.IntRange(1, 5).Draw(t, "steps"))
			}
			if holding && rapid.IntRange(0, 2).Draw(t, "ask") == 0 {
				require.Equal(t, replay(facts[:i], sealed), live.tracker.Root())
			}
			if more := rapid.IntRange(0, 3).Draw(t, "more"); i < len(facts) {
				live.apply(facts[i:min(i+1+more, len(facts))]...)
				i += min(more, len(facts)-i-1)
			}
		}
		live.tracker.Seal(live.tracker.Highest())
		require.Equal(t, replay(facts, root.EverySlot).Hash, live.tracker.Root().Hash)
		require.Equal(t, fold(facts), live.folded(), "the fold is not disturbed")
	})
}

// TestLateFactBetweenSeals: a fact that a held one beats holds at the slots between the two.
func TestLateFactBetweenSeals(t *testing.T) {
	facts := []registry.Fact{
		fact(registry.RegisterProgram, 1, "p"), fact(registry.RegisterDecimals, 1, "6"), fact(registry.RegisterMintAuthority, 1, "first"),
	}
	live := newNode(1)
	live.apply(facts...)
	live.tracker.Seal(1)
	for _, late := range []registry.Fact{
		fact(registry.RegisterMintAuthority, 5, "third"), fact(registry.RegisterMintAuthority, 3, "second"),
		fact(registry.RegisterFreezeAuthority, 1, "late, and of a sealed slot"),
	} {
		facts = append(facts, late)
		live.apply(late)
		require.Equal(t, replay(facts, 1), live.tracker.Root())
	}
	roots := map[root.Sum]bool{}
	for slot := uint64(2); slot <= 6; slot++ {
		live.tracker.Seal(slot)
		require.Equal(t, replay(facts, slot), live.tracker.Root())
		live.tracker.Seal(slot - 1)
		require.Equal(t, slot, live.tracker.Root().Slot, "never back")
		roots[live.tracker.Root().Hash] = true
	}
	require.Len(t, roots, 3, "slots 2, 3 to 4, 5 to 6")
}

func TestOneFieldOfOneTokenChangesTheRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := messages(t)
		before := replay(facts, root.EverySlot)
		states := fold(facts)
		mints := slices.DeleteFunc(slices.SortedFunc(maps.Keys(states), pubkey.Compare), func(mint pubkey.Key) bool {
			_, member := states[mint].Token(mint)
			return !member
		})
		if len(mints) == 0 {
			t.Skip("no member")
		}
		mint := rapid.SampledFrom(mints).Draw(t, "mint")
		change := registry.Fact{Mint: mint, Position: at(100), Register: rapid.SampledFrom([]registry.Register{
			registry.RegisterProgram, registry.RegisterDecimals, registry.RegisterMintAuthority, registry.RegisterFreezeAuthority,
			registry.RegisterMetaplexName, registry.RegisterMetaplexSymbol, registry.RegisterMetaplexURI, registry.RegisterMetaplexUpdateAuthority,
			registry.RegisterSellerFeeBasisPoints, registry.RegisterTokenStandard, registry.RegisterToken2022Name, registry.RegisterToken2022Symbol,
			registry.RegisterToken2022URI, registry.RegisterToken2022UpdateAuthority, registry.RegisterMetadataPointer, registry.RegisterClosed,
		}).Draw(t, "register")}
		switch change.Register {
		case registry.RegisterClosed:
			change.Value = "true"
		case registry.RegisterDecimals, registry.RegisterSellerFeeBasisPoints:
			change.Value = "77"
		case registry.RegisterTokenStandard:
			change.Value = "99"
		default:
			change.Value = "something else"
		}
		live := newNode(1)
		live.apply(facts...)
		require.Equal(t, before, live.tracker.Root())
		live.apply(change)
		after := live.tracker.Root()
		require.NotEqual(t, before.Hash, after.Hash)
		require.Equal(t, replay(append(facts, change), root.EverySlot), after)
	})
}
