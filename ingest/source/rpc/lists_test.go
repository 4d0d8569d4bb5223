package rpc

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana"
)

// TestASkippedSlotCostsOneCall: at a node without getBlocks, whose answer for a skipped slot is the
// one for a block that is not there yet, or null. The next slots are asked for, not the same one.
func TestASkippedSlotCostsOneCall(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	for _, answer := range []int{-32007, -32009, -32004, -32014} {
		synctest.Test(t, func(t *testing.T) {
			n := newLiar(t, c)
			n.fails = map[string][]error{"getBlocks": slices.Repeat([]error{code(-32601)}, 100)}
			n.answer = func(slot uint64, _ int) error {
				if c.At(slot) == nil {
					return code(answer)
				}
				return nil
			}
			from, to := ends(c)
			began := time.Now()
			sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
			sourcetest.RequireChain(t, c, sink.Blocks())
			require.Equal(t, c.Skipped(), sink.SkippedSlots())
			require.Less(t, time.Since(began), time.Second)
			for _, slot := range c.Skipped() {
				require.Equal(t, 1, n.calls[slot], "slot %d", slot)
				require.Zero(t, n.waits[slot], "the client does not wait for it either")
			}
		})
	}
}

// TestARangeFromSlotZero: the first slot of a chain is as good as any other.
func TestARangeFromSlotZero(t *testing.T) {
	c := sourcetest.NewChain(1, 12)
	synctest.Test(t, func(t *testing.T) {
		n := newLiar(t, c[3:])
		sink := &sourcetest.Sink{}
		require.NoError(t, openBackfill(t, 0, c[11].Slot, n).Run(t.Context(), sourcetest.Ledger{From: 5000}, sink))
		require.Contains(t, sink.RefusedInputs(), fmt.Sprintf("slots 0 to %d", c[3].Parent))
		n = newLiar(t, nil)
		sink = &sourcetest.Sink{}
		require.NoError(t, openBackfill(t, 0, 2, n).Run(t.Context(), sourcetest.Ledger{From: 5000}, sink))
		require.Contains(t, sink.RefusedInputs(), "slots 0 to 2")
	})
}

// TestAServerWithoutListsIsNotAskedForThemAgain: a node may take long to refuse getBlocks.
func TestAServerWithoutListsIsNotAskedForThemAgain(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	synctest.Test(t, func(t *testing.T) {
		n := newLiar(t, c)
		n.fails = map[string][]error{"getBlocks": slices.Repeat([]error{code(-32603)}, 10_000)}
		s, sink := open(t, Config{}, n), &sourcetest.Sink{}
		began := time.Now()
		for range 20 {
			require.NoError(t, s.Fill(t.Context(), c[3].Slot, c[9].Slot, sourcetest.Ledger{}, sink))
		}
		require.Less(t, time.Since(began), 5*time.Minute)
		require.Len(t, sink.Blocks(), 20*7)
	})
}

// TestATipThatIsNotListed: a server that lists its newest blocks late, or never, is followed all
// the same.
func TestATipThatIsNotListed(t *testing.T) {
	c := sourcetest.NewChain(1000, 120)
	drop := func(honest []uint64) []uint64 { return honest[:max(len(honest), 2)-2] }
	for name, list := range map[string]func(uint64, uint64, []uint64) []uint64{
		"the last two never": func(_, _ uint64, honest []uint64) []uint64 { return drop(honest) },
		"nothing":            func(uint64, uint64, []uint64) []uint64 { return nil },
		"one of three": func(_, _ uint64, honest []uint64) []uint64 {
			return slices.DeleteFunc(honest, func(s uint64) bool { return s%3 > 0 })
		},
	} {
		for _, absent := range []int{-32007, -32004} {
			t.Run(fmt.Sprint(name, absent), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := newLiar(t, c)
					n.list = list
					n.answer = func(slot uint64, _ int) error {
						n.mu.Lock()
						defer n.mu.Unlock()
						if c.At(slot) == nil || slot > n.tip {
							return code(absent)
						}
						return nil
					}
					n.tip = c[0].Slot
					ctx, cancel := context.WithCancel(t.Context())
					go func() {
						for slot := c[0].Slot; slot <= c[119].Slot; slot++ {
							n.mu.Lock()
							n.tip = slot
							n.mu.Unlock()
							time.Sleep(200 * time.Millisecond)
						}
					}()
					s, err := New(Config{From: &c[0].Slot}, Deps{Client: n})
					require.NoError(t, err)
					sink, done := &sourcetest.Sink{}, make(chan error, 1)
					go func() { done <- s.Run(ctx, sourcetest.Ledger{}, sink) }()
					time.Sleep(3 * time.Minute)
					cancel()
					require.NoError(t, <-done)
					got := sink.Slots()
					require.True(t, slices.IsSorted(got))
					require.GreaterOrEqual(t, len(got), len(c)-70, "the tip is followed")
					require.Equal(t, slotsOf(c)[:len(got)], got)
					require.Empty(t, sink.RefusedInputs())
				})
			})
		}
	}
}

// TestAServerThatRefusesListsByStatus: some refuse methods that they do not offer with an HTTP
// status.
func TestAServerThatRefusesListsByStatus(t *testing.T) {
	c := sourcetest.NewChain(1000, 20)
	for _, status := range []int{400, 405, 410, 413, 422} {
		synctest.Test(t, func(t *testing.T) {
			n := newLiar(t, c)
			n.fails = map[string][]error{"getBlocks": slices.Repeat([]error{&solana.HTTPError{Status: status}}, 100)}
			from, to := ends(c)
			sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
			sourcetest.RequireChain(t, c, sink.Blocks())
			require.Equal(t, c.Skipped(), sink.SkippedSlots())
		})
	}
}

// TestAnswersThatAreNone: a method whose answer can never be read costs what it was asked for, and
// is not asked for ever.
func TestAnswersThatAreNone(t *testing.T) {
	c := sourcetest.NewChain(1000, 20)
	from, to := ends(c)
	synctest.Test(t, func(t *testing.T) {
		n := newLiar(t, c)
		n.fails = map[string][]error{"getBlocks": slices.Repeat([]error{solana.ErrMalformed}, 10_000)}
		sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
		sourcetest.RequireChain(t, c, sink.Blocks())
	})
	synctest.Test(t, func(t *testing.T) {
		n, began := newLiar(t, c), time.Now()
		n.answer = func(slot uint64, _ int) error {
			if slot == c[7].Slot {
				return solana.ErrMalformed
			}
			return nil
		}
		sink := runAll(t, open(t, Config{From: from, To: to}, n), sourcetest.Ledger{})
		require.Len(t, sink.Blocks(), len(c)-1)
		require.Contains(t, sink.RefusedInputs(), fmt.Sprintf("slot %d", c[7].Slot))
		require.Less(t, time.Since(began), 5*time.Minute)
	})
}

// TestATipThatIsNotToldForLong: a source that follows the tip goes on when the server is well
// again, however long that takes.
func TestATipThatIsNotToldForLong(t *testing.T) {
	c := sourcetest.NewChain(1000, 20)
	for _, err := range []error{&solana.RPCError{Code: solana.CodeNodeUnhealthy}, solana.ErrMalformed, &solana.HTTPError{Status: 503}} {
		synctest.Test(t, func(t *testing.T) {
			n := newLiar(t, c)
			n.fails = map[string][]error{"getSlot": slices.Repeat([]error{err}, 40)}
			s, err := New(Config{From: &c[0].Slot}, Deps{Client: n})
			require.NoError(t, err)
			sink := &sourcetest.Sink{}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx, sourcetest.Ledger{}, sink) }()
			time.Sleep(20 * time.Minute) // the tries take 9
			cancel()
			require.NoError(t, <-done)
			sourcetest.RequireChain(t, c, sink.Blocks())
		})
	}
}
