package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana"
)

// liar is a node whose methods say different things.
type liar struct {
	*node
	// list changes the answer of getBlocks; nil = honest.
	list func(from, to uint64, honest []uint64) []uint64
	// answer is what getBlock answers in place of a block, call by call of the slot; nil = honest.
	answer func(slot uint64, call int) error
	calls  map[uint64]int
	waits  map[uint64]int // of these, the calls that let the client wait for the block
}

func newLiar(t testing.TB, c sourcetest.Chain) *liar {
	if c == nil {
		empty := &node{t: t, tip: 5000, hidden: map[uint64]int{}, asked: map[uint64]int{}, header: map[uint64]int{}}
		return &liar{node: empty, calls: map[uint64]int{}, waits: map[uint64]int{}}
	}
	return &liar{node: newNode(t, c), calls: map[uint64]int{}, waits: map[uint64]int{}}
}

func (l *liar) GetBlocks(ctx context.Context, from, to uint64, commitment solana.Commitment) ([]uint64, error) {
	honest, err := l.node.GetBlocks(ctx, from, to, commitment)
	if l.list == nil || err != nil {
		return honest, err
	}
	return l.list(from, to, honest), nil
}

func (l *liar) GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	l.mu.Lock()
	l.calls[slot]++
	call := l.calls[slot]
	if !opts.NoWait {
		l.waits[slot]++
	}
	l.mu.Unlock()
	if l.answer != nil {
		if err := l.answer(slot, call); err != nil {
			return nil, err
		}
	}
	return l.node.GetBlock(ctx, slot, opts)
}

func code(n int) error { return &solana.RPCError{Code: n, Message: "no block"} }

// told returns which slots the sink was told of as refused.
func told(t testing.TB, sink *sourcetest.Sink) map[uint64]bool {
	slots := map[uint64]bool{}
	for name := range sink.RefusedInputs() {
		var from, to uint64
		if n, _ := fmt.Sscanf(name, "slots %d to %d", &from, &to); n == 0 {
			_, err := fmt.Sscanf(name, "slot %d", &from)
			require.NoError(t, err, name)
			to = from
		}
		for slot := from; slot <= to; slot++ {
			slots[slot] = true
		}
	}
	return slots
}

// requireAccounted: every slot of a range has its block delivered, or is rightly called skipped, or
// is told.
func requireAccounted(t testing.TB, c sourcetest.Chain, from, to uint64, sink *sourcetest.Sink) (missing []uint64) {
	t.Helper()
	reported, skipped := told(t, sink), sink.SkippedSlots()
	for _, slot := range skipped {
		require.Nil(t, c.At(slot), "slot %d has a block and is called skipped", slot)
	}
	delivered := sink.Slots()
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(delivered))), len(delivered), "no block twice")
	for slot := from; slot <= to; slot++ {
		switch {
		case slices.Contains(delivered, slot):
		case slices.Contains(skipped, slot):
		default:
			require.True(t, reported[slot], "slot %d is lost in silence; told %v", slot, sink.RefusedInputs())
			missing = append(missing, slot)
		}
	}
	for _, slot := range delivered {
		require.True(t, slot >= from && slot <= to, "slot %d was not asked for", slot)
	}
	return missing
}

// TestNoSlotOfARangeIsLostInSilence: whatever the methods of a server say of a range, every slot of
// it is read, proved to have no block, or told.
func TestNoSlotOfARangeIsLostInSilence(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	from, to := c[5].Slot, c[29].Slot
	without := func(drop ...uint64) func(uint64, uint64, []uint64) []uint64 {
		return func(_, _ uint64, honest []uint64) []uint64 {
			return slices.DeleteFunc(honest, func(s uint64) bool { return slices.Contains(drop, s) })
		}
	}
	answers := func(err error, slots ...uint64) func(uint64, int) error {
		return func(slot uint64, _ int) error {
			if slices.Contains(slots, slot) {
				return err
			}
			return nil
		}
	}
	last := []uint64{c[28].Slot, c[29].Slot}
	all := func(from, to uint64, _ []uint64) (slots []uint64) {
		for slot := from; slot <= to; slot++ {
			slots = append(slots, slot)
		}
		return slots
	}
	cases := map[string]struct {
		list   func(from, to uint64, honest []uint64) []uint64
		answer func(slot uint64, call int) error
		lost   []uint64 // what the server gives by no method
		to     uint64   // another end than to
	}{
		"honest":                          {},
		"leaves out the last two":         {list: without(last...)},
		"leaves out the last two, always": {list: func(_, _ uint64, honest []uint64) []uint64 { return honest[:max(len(honest), 2)-2] }},
		"leaves out the first two":        {list: without(c[5].Slot, c[6].Slot)},
		"leaves out some in the middle":   {list: without(c[10].Slot, c[11].Slot, c[12].Slot, c[20].Slot)},
		"lists nothing":                   {list: func(uint64, uint64, []uint64) []uint64 { return nil }},
		"lists every slot":                {list: all},
		"lists slots out of range": {list: func(_, _ uint64, honest []uint64) []uint64 {
			return append([]uint64{3, c[1].Slot, 1<<64 - 1, c[50].Slot}, honest...)
		}},
		"lists slots twice, backwards": {list: func(_, _ uint64, honest []uint64) []uint64 {
			twice := append(slices.Clone(honest), honest...)
			slices.Reverse(twice)
			return twice
		}},
		"lists more than was asked for": {list: func(uint64, uint64, []uint64) []uint64 {
			return append(all(0, 5000, nil), all(0, 5000, nil)...)
		}},
		"hides the last two":              {list: without(last...), answer: answers(code(-32007), last...), lost: last},
		"lists the last two, says -32007": {answer: answers(code(-32007), last...), lost: last},
		"lists the last two, says -32009": {answer: answers(code(-32009), last...), lost: last},
		"lists the last two, says -32004": {answer: answers(code(-32004), last...), lost: last},
		"lists the last two, says -32001": {answer: answers(code(-32001), last...), lost: last},
		"lists one in the middle, -32007": {answer: answers(code(-32007), c[15].Slot), lost: []uint64{c[15].Slot}},
		"lists one in the middle, -32004": {answer: answers(code(-32004), c[15].Slot), lost: []uint64{c[15].Slot}},
		"lists the first, says -32007":    {answer: answers(code(-32007), c[5].Slot), lost: []uint64{c[5].Slot}},
		"another upstream has the last two": {answer: func(slot uint64, call int) error {
			return map[bool]error{true: code(-32007)}[slot >= last[0] && slot <= to && call%2 == 1]
		}},
		"has no longer the first ten":        {list: without(slotsOf(c[:15])...), answer: answers(code(-32001), slotsOf(c[:15])...), lost: slotsOf(c[5:15])},
		"has nothing of the range":           {list: without(slotsOf(c[5:30])...), answer: answers(code(-32007), slotsOf(c[5:30])...), lost: slotsOf(c[5:30])},
		"the range ends with skipped slots":  {to: c[27].Slot - 1},
		"ends with skipped ones, all listed": {list: all, to: c[27].Slot - 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n, to := newLiar(t, c), to
				n.list, n.answer = tc.list, tc.answer
				if tc.to != 0 {
					to = tc.to
				}
				sink := &sourcetest.Sink{}
				require.NoError(t, openBackfill(t, from, to, n).Run(t.Context(), sourcetest.Ledger{From: 5000}, sink))
				missing := requireAccounted(t, c, from, to, sink)
				for _, slot := range tc.lost {
					require.Contains(t, missing, slot)
				}
				if len(tc.lost) == 0 {
					require.Empty(t, missing)
					require.Empty(t, sink.RefusedInputs())
				}
				read, total := sink.ProgressSaid()
				require.Equal(t, total, read)
			})
		})
	}
}

func slotsOf(c sourcetest.Chain) (slots []uint64) {
	for _, b := range c {
		slots = append(slots, b.Slot)
	}
	return slots
}

// TestNoSlotIsLostWhateverTheMethodsSay tries made-up servers: each slot is listed or not, and
// answered for good or for a while in one of several ways.
func TestNoSlotIsLostWhateverTheMethodsSay(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			n := newLiar(t, c)
			hidden, ways := map[uint64]bool{}, map[uint64]int{}
			for _, b := range c {
				if random.IntN(6) == 0 {
					hidden[b.Slot] = true
				}
				if random.IntN(8) == 0 {
					ways[b.Slot] = 1 + random.IntN(7)
				}
			}
			noList, falseSlots := random.IntN(4) == 0, random.IntN(4) == 0
			n.list = func(from, to uint64, honest []uint64) []uint64 {
				honest = slices.DeleteFunc(honest, func(s uint64) bool { return hidden[s] })
				if falseSlots {
					honest = append(honest, from+1, to)
				}
				return honest
			}
			if noList {
				n.fails = map[string][]error{"getBlocks": slices.Repeat([]error{code(-32601)}, 100)}
			}
			n.answer = func(slot uint64, call int) error {
				switch way := ways[slot]; {
				case way == 1 && call > 2, way == 2 && call > 4:
					return nil
				case way == 1, way == 3:
					return code(-32007)
				case way == 2, way == 4:
					return code(-32004)
				case way == 5:
					return code(-32009)
				case way == 6:
					return code(-32001)
				}
				if c.At(slot) == nil && noList {
					return code(-32004)
				}
				return nil
			}
			a, b := random.IntN(20), 21+random.IntN(30)
			from, to := c[a].Slot-uint64(random.IntN(3)), c[b].Slot+uint64(random.IntN(3))
			sink := &sourcetest.Sink{}
			require.NoError(t, openBackfill(t, from, to, n).Run(t.Context(), sourcetest.Ledger{From: 5000}, sink))
			requireAccounted(t, c, from, to, sink)

			filled := &sourcetest.Sink{}
			filler, err := New(Config{firstPause: time.Millisecond, poll: time.Millisecond}, Deps{Client: n})
			require.NoError(t, err)
			require.NoError(t, filler.Fill(t.Context(), from, to, sourcetest.Ledger{}, filled))
			for _, slot := range filled.SkippedSlots() {
				require.Nil(t, c.At(slot), "slot %d has a block and is called skipped", slot)
			}
		})
	}
}

// TestAnEndThatNothingProves: the chain stops at the range's end, or the server shows nothing
// behind it. That is told after a while, and a filler of gaps does not wait.
func TestAnEndThatNothingProves(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	from, to := c[0].Slot, c[11].Slot+3
	for name, tip := range map[string]uint64{"the chain stops": to, "nothing is had behind": to + 5000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newLiar(t, c)
				n.tip = tip
				sink := &sourcetest.Sink{}
				began := time.Now()
				require.NoError(t, openBackfill(t, from, to, n).Run(t.Context(), sourcetest.Ledger{From: 5000}, sink))
				require.LessOrEqual(t, time.Since(began), 3*time.Minute)
				require.Equal(t, []uint64{to - 2, to - 1, to}, requireAccounted(t, c, from, to, sink))
				require.Contains(t, sink.RefusedInputs(), fmt.Sprintf("slots %d to %d", to-2, to))

				began, sink = time.Now(), &sourcetest.Sink{}
				require.NoError(t, open(t, Config{}, n).Fill(t.Context(), from, to, sourcetest.Ledger{}, sink))
				require.Less(t, time.Since(began), time.Second)
				require.Len(t, sink.Blocks(), len(c))
				require.Empty(t, sink.RefusedInputs(), "the ledger shows what is left")
			})
		})
	}
}

// TestAnEndIsProvedByTheNextBlock: a range that ends with skipped slots, at the tip.
func TestAnEndIsProvedByTheNextBlock(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	synctest.Test(t, func(t *testing.T) {
		n := newLiar(t, c)
		to := c[9].Slot - 1 // skipped
		require.Nil(t, c.At(to))
		n.tip = to
		go func() {
			time.Sleep(5 * time.Second)
			n.mu.Lock()
			n.tip = c[9].Slot
			n.mu.Unlock()
		}()
		sink := &sourcetest.Sink{}
		require.NoError(t, openBackfill(t, c[0].Slot, to, n).Run(t.Context(), sourcetest.Ledger{From: 5000}, sink))
		require.Empty(t, requireAccounted(t, c, c[0].Slot, to, sink))
	})
}
