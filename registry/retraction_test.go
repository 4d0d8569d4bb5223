package registry_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// node folds messages one by one, as a reader of the log does that keeps only states.
type node struct {
	states map[pubkey.Key]*registry.State
	// again are the mints that must be folded again.
	again map[pubkey.Key]bool
}

func (n *node) apply(facts []registry.Fact) {
	for _, fact := range facts {
		if n.states[fact.Mint] == nil {
			n.states[fact.Mint] = new(registry.State)
		}
		if n.states[fact.Mint].TakesBack(&fact) {
			n.again[fact.Mint] = true
		}
		n.states[fact.Mint].Apply(fact)
	}
}

// settle adds to the states that must be folded again what a reader of all messages has of them.
func (n *node) settle(all []registrytest.Message) {
	believed := registrytest.Believed(registrytest.FactsOf(all))
	for mint := range n.again {
		delete(n.again, mint)
		if state := believed[mint]; state != nil {
			n.apply(state.Facts())
		}
	}
}

// known are the states that have facts.
func (n *node) known() map[pubkey.Key]*registry.State {
	known := map[pubkey.Key]*registry.State{}
	for mint, state := range n.states {
		if len(state.Facts()) > 0 {
			known[mint] = registryState(state)
		}
	}
	return known
}

func registryState(state *registry.State) *registry.State {
	same := registry.StateOf(append([]registry.Fact{}, state.Facts()...))
	return &same
}

// TestWhatIsTakenBackIsAsIfNeverSaid: in any order and with repeats, if the mints that lost facts
// are folded again, now or later, from at least all that had come by then.
func TestWhatIsTakenBackIsAsIfNeverSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := registrytest.WithRetractions(30).Draw(t, "messages")
		want := registrytest.Believed(registrytest.FactsOf(messages))
		again := append([]registrytest.Message{}, messages...)
		again = append(again, messages[:rapid.IntRange(0, len(messages)).Draw(t, "repeated")]...)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 3))
		random.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })

		n := &node{states: map[pubkey.Key]*registry.State{}, again: map[pubkey.Key]bool{}}
		for i := range again {
			n.apply(again[i].Facts())
			if random.IntN(3) == 0 {
				n.settle(again[:i+1+random.IntN(len(again)-i)])
			}
		}
		for len(n.again) > 0 {
			n.settle(again)
		}
		require.Equal(t, want, n.known())
	})
}

// TestAFactThatWasTakenBackLeavesNoTrace: what it had beaten and what it had covered holds again.
func TestAFactThatWasTakenBackLeavesNoTrace(t *testing.T) {
	const lie = math.MaxUint64 - 1
	messages := []registrytest.Message{
		event(1, 0, initialize), event(1, 1, mintTo(100)), read(5, 90), event(6, 0, mintTo(7)), read(lie, 1), event(8, 0, burn(2)),
		retraction(&eventspb.Retraction{Slots: []*eventspb.SlotRange{{From: lie, To: lie}}}), read(lie, 3),
	}
	n := &node{states: map[pubkey.Key]*registry.State{}, again: map[pubkey.Key]bool{}}
	mint := pubkey.Key(registrytest.Mint(1))
	for _, message := range messages {
		n.apply(message.Facts())
	}
	require.True(t, n.again[mint])
	token, _ := n.states[mint].Token(mint)
	require.Nil(t, token.Supply, "nothing is known of it until the mint is folded again")
	n.settle(messages)
	token, member := n.states[mint].Token(mint)
	require.True(t, member)
	require.Equal(t, "95", *token.Supply)
}

func retraction(r *eventspb.Retraction) registrytest.Message {
	return registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Fact: &eventspb.Enrichment_Retraction{Retraction: r}}}
}

func TestWhatARetractionCovers(t *testing.T) {
	at := func(register registry.Register, position schemas.Position) registry.Fact {
		if register == registry.RegisterFirstSeen {
			position = position.Reverse()
		}
		return registry.Fact{Register: register, Position: position}
	}
	behind := schemas.EndOfSlot
	inside := func(slot uint64) schemas.Position { return schemas.EndOfTransaction(slot, 7) }
	for _, c := range []struct {
		name          string
		fact          registry.Fact
		reads, events bool
	}{
		{"a read", at(registry.RegisterSupply, behind(5)), true, true},
		{"a read at the end of the range", at(registry.RegisterSupply, behind(7)), true, true},
		{"a read before it", at(registry.RegisterSupply, behind(4)), false, false},
		{"a read after it", at(registry.RegisterSupply, behind(8)), false, false},
		{"an instruction", at(registry.RegisterSupplyDelta, inside(6)), false, true},
		{"when an instruction was first seen", at(registry.RegisterFirstSeen, inside(6)), false, true},
		{"when another was", at(registry.RegisterFirstSeen, inside(8)), false, false},
		{"a document", at(registry.RegisterOffchain, behind(5)), true, true},
		{"a check of a logo", at(registry.RegisterLogo, schemas.Position{Slot: 5, Order: 3}), true, true},
		{"a register of a later version", at(99, behind(5)), true, true},
	} {
		require.Equal(t, c.reads, registry.Retracted{From: 5, To: 7}.Covers(&c.fact), c.name)
		require.Equal(t, c.events, registry.Retracted{From: 5, To: 7, Events: true}.Covers(&c.fact), c.name)
	}
	all := registry.Retracted{To: math.MaxUint64, Events: true}
	for _, register := range []registry.Register{registry.RegisterTokenList, registry.RegisterLogoOverride, registry.RegisterRetraction} {
		fact := at(register, schemas.Position{Order: 9})
		require.False(t, all.Covers(&fact), "decisions and lists have no place on the chain")
	}
}

func TestRangesAsItems(t *testing.T) {
	for _, r := range []registry.Retracted{{}, {From: 5, To: 9}, {From: 5, To: 5, Events: true}, {To: math.MaxUint64}} {
		parsed, ok := registry.ParseRetracted(r.Item())
		require.True(t, ok)
		require.Equal(t, r, parsed)
	}
	for _, item := range []string{
		"", "reads", "reads ", "reads -", "reads 5", "reads 5-", "reads -5", "reads 9-5", "reads 05-9", "reads 5-09", "reads +5-9", "reads 5-9 ", "reads  5-9",
		" reads 5-9", "Reads 5-9", "all 5-9", "reads 5-9-9", "reads 5-18446744073709551616", "reads 0x5-9", "reads 5_0-90",
	} {
		_, ok := registry.ParseRetracted(item)
		require.False(t, ok, item)
	}
	state := new(registry.State)
	require.True(t, state.Apply(registry.Fact{Register: registry.RegisterSupply, Position: schemas.EndOfSlot(5), Value: "1"}))
	require.True(t, state.Apply(registry.Fact{Register: registry.RegisterRetraction, Item: "of a later version"}))
	require.Len(t, state.Facts(), 2, "what is not understood is kept, and takes nothing back")
}

// TestARetractionOfNoSlotsGivesNoFact: nor does a range that ends before it begins.
func TestARetractionOfNoSlotsGivesNoFact(t *testing.T) {
	require.Empty(t, retraction(&eventspb.Retraction{}).Facts())
	require.Empty(t, retraction(&eventspb.Retraction{Slots: []*eventspb.SlotRange{{From: 6, To: 5}}}).Facts())
	facts := retraction(&eventspb.Retraction{Version: 8, Slots: []*eventspb.SlotRange{{From: 5, To: 6}, {From: 9, To: 9}}, Events: true}).Facts()
	require.Len(t, facts, 2)
	require.Equal(t, registry.Fact{Mint: pubkey.Key(registrytest.Mint(1)), Register: registry.RegisterRetraction, Item: "events 5-6", Position: schemas.Position{Order: 8}}, facts[0])
}
