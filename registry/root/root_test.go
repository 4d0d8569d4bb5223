package root_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

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

func replay(facts []registry.Fact, atSlot uint64) root.Root {
	r := root.NewReplay(atSlot)
	r.Apply(facts)
	return r.Root()
}

// rootOf is the root of all facts of the slots up to atSlot, folded, by its definition.
func rootOf(facts []registry.Fact, atSlot uint64) root.Root {
	facts = slices.DeleteFunc(slices.Clone(facts), func(f registry.Fact) bool { return root.SlotOf(&f) > atSlot })
	elements := map[pubkey.Key][]byte{}
	for mint, state := range fold(facts) {
		if element, ok := root.AppendEncode(nil, mint, state); ok {
			elements[mint] = element
		}
	}
	return rootByDefinition(atSlot, elements)
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

// TestReplayWithoutWhatWasTakenBack: the root is that of the log without it, at every slot.
func TestReplayWithoutWhatWasTakenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := registrytest.FactsOf(registrytest.WithRetractions(60).Draw(t, "messages"))
		slot := rapid.SampledFrom([]uint64{0, 2, 4, root.EverySlot}).Draw(t, "slot")
		log := delivered(t, facts)
		r := root.NewReplay(slot)
		for r.Apply(log); r.Again(); {
			r.Apply(log)
		}
		elements, highest := map[pubkey.Key][]byte{}, uint64(0)
		for mint, state := range registrytest.Believed(slices.DeleteFunc(facts, func(f registry.Fact) bool { return root.SlotOf(&f) > slot })) {
			highest = max(highest, root.Highest(state.Facts()))
			if element, ok := root.AppendEncode(nil, mint, state); ok {
				elements[mint] = element
			}
		}
		if slot != root.EverySlot {
			highest = slot
		}
		require.Equal(t, rootByDefinition(highest, elements), r.Root())
	})
}

func TestReplayIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := messages(t)
		slot := rapid.Uint64Range(0, 6).Draw(t, "slot")
		require.Equal(t, rootOf(facts, slot), replay(delivered(t, facts), slot))
	})
}
