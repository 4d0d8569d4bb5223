package order

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/ingest/chain"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func block(b *sourcetest.Block) *chain.Block {
	parent := b.Parent
	return &chain.Block{Slot: b.Slot, ParentSlot: &parent, Blockhash: b.Hash, ParentBlockhash: b.ParentHash, Whole: true}
}

func slots(steps []Step, kind StepKind) (out []uint64) {
	for _, s := range steps {
		switch {
		case s.Kind != kind:
		case kind == Deliver:
			out = append(out, s.Block.Slot)
		default:
			out = append(out, s.From)
		}
	}
	return out
}

func chainSlots(c sourcetest.Chain) (out []uint64) {
	for _, b := range c {
		out = append(out, b.Slot)
	}
	return out
}

var noon = time.Unix(1_700_000_000, 0)

// Reordering within the bound and repeats change nothing: same blocks, parents first, same skipped
// slots, no gap.
func TestShuffledAndRepeatedIsTheSameChain(t *testing.T) {
	c := sourcetest.NewChain(5000, 60)
	rapid.Check(t, func(t *rapid.T) {
		var queue []*chain.Block
		for _, b := range c {
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				queue = append(queue, block(b))
			}
		}
		for i := range queue { // each may move up to 10 places
			j := min(i+rapid.IntRange(0, 10).Draw(t, "move"), len(queue)-1)
			queue[i], queue[j] = queue[j], queue[i]
		}
		l := New(Config{Skips: true}, c[0].Parent)
		var steps []Step
		for _, b := range queue {
			more, _ := l.Add(b, noon)
			steps = append(steps, more...)
		}
		require.False(t, l.Stuck(noon.Add(time.Hour)))
		require.Zero(t, l.Waiting())
		require.Equal(t, chainSlots(c), slots(steps, Deliver))
		require.Equal(t, c.Skipped(), slots(steps, Skip))
		require.Empty(t, slots(steps, Gap))
		require.Equal(t, c[len(c)-1].Slot, l.Tip())
	})
}

// Whatever is lost and however it is mixed, what was added comes out, each once.
func TestNothingAddedIsLost(t *testing.T) {
	c := sourcetest.NewChain(5000, 60)
	rapid.Check(t, func(t *rapid.T) {
		l := New(Config{Skips: true, MaxBlocks: rapid.IntRange(1, 8).Draw(t, "max")}, 0)
		var steps []Step
		var want []uint64
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(c)-1), 1, 100).Draw(t, "order") {
			want = append(want, c[i].Slot)
			more, _ := l.Add(block(c[i]), noon)
			steps = append(steps, more...)
			if l.Stuck(noon) {
				steps = append(steps, l.Release()...)
			}
		}
		steps = append(steps, l.Flush()...)
		got := slots(steps, Deliver)
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, slices.Compact(want), got)
		for _, s := range slots(steps, Skip) {
			require.Nil(t, c.At(s), "slot %d has a block", s)
		}
	})
}

func TestMissingParentIsWaitedForAndThenAGap(t *testing.T) {
	c := sourcetest.NewChain(5000, 10)
	l := New(Config{Skips: true, MaxWait: time.Second}, 0)
	_, _ = l.Add(block(c[0]), noon)
	steps, _ := l.Add(block(c[4]), noon)
	require.Empty(t, steps)
	require.False(t, l.Stuck(noon.Add(time.Second/2)))
	require.True(t, l.Stuck(noon.Add(2*time.Second)))
	steps = l.Release()
	require.Equal(t, Step{Kind: Gap, From: c[0].Slot + 1, To: c[3].Slot}, steps[0])
	require.Equal(t, []uint64{c[4].Slot}, slots(steps, Deliver))
	steps, _ = l.Add(block(c[2]), noon) // late, but welcome
	require.Equal(t, []uint64{c[2].Slot}, slots(steps, Deliver))
}

func TestALateBlockMayLieInFrontOfTheFirst(t *testing.T) {
	c := sourcetest.NewChain(5000, 6)
	l := New(Config{Skips: true}, 0)
	_, _ = l.Add(block(c[4]), noon)
	steps, _ := l.Add(block(c[3]), noon)
	require.Empty(t, slots(steps, Gap), "the first one's parent")
	steps, _ = l.Add(block(c[0]), noon)
	require.Equal(t, Step{Kind: Gap, From: c[0].Slot + 1, To: c[2].Slot}, steps[0], "what lies between is missing")
	require.Equal(t, []uint64{c[0].Slot}, slots(steps, Deliver))
	for _, i := range []int{2, 1, 5} {
		steps, _ = l.Add(block(c[i]), noon)
		require.Empty(t, slots(steps, Gap), "told once")
		require.Equal(t, []uint64{c[i].Slot}, slots(steps, Deliver))
	}
	resumed := New(Config{Skips: true}, c[4].Slot)
	steps, _ = resumed.Add(block(c[0]), noon)
	require.Empty(t, slots(steps, Gap), "the ledger knows")
}

func TestStartsBehindASkippedSlot(t *testing.T) {
	c := sourcetest.NewChain(5000, 5) // after the third block a slot is skipped
	require.Equal(t, c[2].Slot+2, c[3].Slot)
	l := New(Config{Skips: true}, c[2].Slot+1)
	steps, _ := l.Add(block(c[3]), noon)
	require.Equal(t, []uint64{c[3].Slot}, slots(steps, Deliver))
	require.Empty(t, slots(steps, Skip), "the ledger knows")
}

func TestLoserOfAForkIsDead(t *testing.T) {
	c := sourcetest.NewChain(5000, 2)
	loser := sourcetest.NewBlock(5002, c[1], "loser")
	winner := sourcetest.NewBlock(5003, c[1], "winner")
	l := New(Config{}, 0)
	for _, b := range []*sourcetest.Block{c[0], c[1], loser, winner} {
		steps, _ := l.Add(block(b), noon)
		require.Equal(t, []uint64{b.Slot}, slots(steps, Deliver))
	}
	require.Empty(t, l.Finalized(5001, 5000))
	require.Equal(t, []uint64{5002}, slots(l.Finalized(5003, 5001), Lost))
	require.Empty(t, l.Finalized(5003, 5001), "said once")
	require.Empty(t, l.SlotDead(4000), "never delivered")
}

func TestUnbelievableBlockMovesNothing(t *testing.T) {
	c := sourcetest.NewChain(5000, 5)
	l := New(Config{MaxWait: time.Second}, 0)
	_, _ = l.Add(block(c[0]), noon)
	far := block(sourcetest.NewBlock(1<<50, &sourcetest.Block{Slot: 1<<50 - 1}, "far"))
	jump := block(sourcetest.NewBlock(1<<50, c[0], "jump"))
	for _, b := range []*chain.Block{far, jump} {
		steps, _ := l.Add(b, noon)
		require.Empty(t, steps)
	}
	for _, b := range c[1:] {
		steps, _ := l.Add(block(b), noon)
		require.Equal(t, []uint64{b.Slot}, slots(steps, Deliver))
	}
	require.Empty(t, l.Flush())
	require.Equal(t, 2, l.Dropped())
	require.Equal(t, c[4].Slot, l.Tip())
}

func TestMemoryIsBounded(t *testing.T) {
	l := New(Config{}, 0)
	parent := &sourcetest.Block{Slot: 1}
	for slot := uint64(2); slot < 5*window; slot++ {
		b := &chain.Block{Slot: slot, ParentSlot: &parent.Slot, Blockhash: pubkey.Key{byte(slot), byte(slot >> 8), byte(slot >> 16)}}
		_, _ = l.Add(b, noon)
		parent = &sourcetest.Block{Slot: slot}
	}
	require.LessOrEqual(t, len(l.delivered), 2*window)
	require.LessOrEqual(t, len(l.bySlot), 2*window)
}

// Two blocks that both were called confirmed cannot both be on the chain: what is built on them
// tells.
func TestChainOnTopTellsWhichBlockLost(t *testing.T) {
	c := sourcetest.NewChain(5000, 2)
	loser, winner := sourcetest.NewBlock(5002, c[1], "loser"), sourcetest.NewBlock(5003, c[1], "winner")
	for name, order := range map[string][]*sourcetest.Block{"loser first": {loser, winner}, "winner first": {winner, loser}} {
		l := New(Config{Skips: true}, 0)
		var lost []uint64
		add := func(b *sourcetest.Block) {
			steps, _ := l.Add(block(b), noon)
			lost = append(lost, slots(steps, Lost)...)
		}
		for _, b := range append([]*sourcetest.Block{c[0], c[1]}, order...) {
			add(b)
		}
		tip := winner
		for range settled - 2 {
			tip = sourcetest.NewBlock(tip.Slot+1, tip, "chain")
			add(tip)
		}
		require.Empty(t, lost, name)
		add(sourcetest.NewBlock(tip.Slot+1, tip, "chain"))
		require.Equal(t, []uint64{5002}, lost, name)
		require.Empty(t, l.contested, name)
	}
}

func TestDeadBlockThatOthersAreBuiltOnIsNotDead(t *testing.T) {
	c := sourcetest.NewChain(5000, 3)
	l := New(Config{Skips: true}, 0)
	for _, b := range c {
		_, _ = l.Add(block(b), noon)
	}
	require.Empty(t, l.SlotDead(c[1].Slot))
	require.Equal(t, 1, l.Dropped())
	require.Equal(t, []uint64{c[2].Slot}, slots(l.SlotDead(c[2].Slot), Lost), "nothing is built on it")
	steps, _ := l.Add(block(c[2]), noon)
	require.Equal(t, []uint64{c[2].Slot}, slots(steps, Deliver), "should it come again, it is taken again")
}

func TestWitness(t *testing.T) {
	var w Witness
	require.False(t, w.Seen(7))
	require.True(t, w.Empty(7), "a block was seen, the chain went on without it")
	require.False(t, w.Empty(8))
	require.True(t, w.Seen(8), "a late word")
	require.False(t, w.Seen(9))
	w.Chain(9)
	require.False(t, w.Empty(9))
	for slot := range uint64(5 * window) {
		w.Seen(slot)
	}
	require.LessOrEqual(t, len(w.seen), 2*window)
}
