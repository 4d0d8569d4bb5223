package registrytest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// WithRetractions generates up to limit messages as Messages does, and puts up to three retractions
// among them. Each takes back facts of a mint, in up to two ranges of one or two slots.
func WithRetractions(limit int) *rapid.Generator[[]Message] {
	return rapid.Custom(func(t *rapid.T) []Message {
		messages := Messages(limit).Draw(t, "messages")
		for range rapid.IntRange(0, 3).Draw(t, "retractions") {
			retraction := &eventspb.Retraction{Version: rapid.Uint64Range(0, 3).Draw(t, "decided"), Events: rapid.Bool().Draw(t, "events too")}
			for range rapid.IntRange(0, 2).Draw(t, "ranges") {
				from := rapid.Uint64Range(0, 5).Draw(t, "from")
				retraction.Slots = append(retraction.Slots, &eventspb.SlotRange{From: from, To: from + rapid.Uint64Range(0, 1).Draw(t, "length")})
			}
			at := rapid.IntRange(0, len(messages)).Draw(t, "place")
			message := Message{Enrichment: &eventspb.Enrichment{Mint: mint(t), Fact: &eventspb.Enrichment_Retraction{Retraction: retraction}}}
			messages = append(messages[:at:at], append([]Message{message}, messages[at:]...)...)
		}
		return messages
	})
}

// FactsOf returns the facts of messages.
func FactsOf(messages []Message) (facts []registry.Fact) {
	for _, message := range messages {
		facts = append(facts, message.Facts()...)
	}
	return facts
}

// Believed folds the facts that no retraction among facts takes back, and returns the states by
// mint. It defines the result of every fold of retractions.
func Believed(facts []registry.Fact) map[pubkey.Key]*registry.State {
	states := map[pubkey.Key]*registry.State{}
	for _, fact := range facts {
		if slices.ContainsFunc(facts, func(other registry.Fact) bool {
			r, ok := registry.ParseRetracted(other.Item)
			return other.Register == registry.RegisterRetraction && other.Mint == fact.Mint && ok && r.Covers(&fact)
		}) {
			continue
		}
		if states[fact.Mint] == nil {
			states[fact.Mint] = new(registry.State)
		}
		states[fact.Mint].Apply(fact)
	}
	return states
}
