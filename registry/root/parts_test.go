package root_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
)

// TestPartsMakeTheSameRoot: however many parts, at every slot.
func TestPartsMakeTheSameRoot(t *testing.T) {
	var facts []registry.Fact
	for seed := range 10 {
		for _, m := range registrytest.Messages(40).Example(seed) {
			facts = append(facts, m.Facts()...)
		}
	}
	for _, slot := range []uint64{0, 3, root.EverySlot} {
		whole := root.NewReplay(slot)
		whole.Apply(facts)
		if whole.Again() {
			whole.Apply(facts)
		}
		for _, count := range []int{1, 3, 64, root.MaxParts} {
			divider, parts := root.NewDivider(count), root.NewParts(slot)
			replays := map[int]*root.Replay{}
			apply := func() {
				for _, fact := range facts {
					part := divider.Of(fact.Mint)
					if replays[part] == nil {
						replays[part] = root.NewReplay(slot)
					}
					replays[part].Apply([]registry.Fact{fact})
				}
			}
			apply()
			again := map[int]*root.Replay{}
			for part, replay := range replays {
				if replay.Again() {
					again[part] = replay
				}
			}
			for _, fact := range facts {
				if replay := again[divider.Of(fact.Mint)]; replay != nil {
					replay.Apply([]registry.Fact{fact})
				}
			}
			for _, replay := range replays {
				parts.Add(replay)
			}
			require.Equal(t, whole.Root(), parts.Root(), "%d parts at slot %d", count, slot)
		}
	}
}
