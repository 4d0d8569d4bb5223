package rpc

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/registry/coverage"
)

func openBackfill(t testing.TB, from, to uint64, client Client) Backfill {
	t.Helper()
	b, err := NewBackfill(Config{From: &from, To: &to, firstPause: time.Millisecond, poll: time.Millisecond}, Deps{Client: client})
	require.NoError(t, err)
	return b
}

func TestBackfillContract(t *testing.T) {
	sourcetest.Contract(t, false, func(t *testing.T, setup sourcetest.Setup) source.Source {
		n := newNode(t, setup.Chain)
		if setup.Broken {
			n.blocks[setup.Chain.Skipped()[1]] = []byte(`{"blockhash":"x"}`)
		}
		from, to := ends(setup.Chain)
		return openBackfill(t, *from, *to, n)
	})
}

// TestBackfillReadsOnlyWhatIsMissing: two holes in a range, of which one reaches beyond it.
func TestBackfillReadsOnlyWhatIsMissing(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	n := newNode(t, c)
	from, to := c[5].Slot, c[29].Slot
	holes := []coverage.Gap{{FromSlot: c[8].Slot, ToSlot: c[10].Slot}, {FromSlot: c[25].Slot, ToSlot: to}}
	sink := &sourcetest.Sink{}
	require.NoError(t, openBackfill(t, from, to, n).Run(t.Context(), holed{sourcetest.Ledger{From: 5000}, holes}, sink))
	sourcetest.RequireChain(t, append(append(sourcetest.Chain{}, c[8:11]...), c[25:30]...), sink.Blocks())
	require.Len(t, n.asked, 8, "nothing else is asked for")
	require.Empty(t, n.header, "and nothing twice")
	read, total := sink.ProgressSaid()
	require.Equal(t, total, read)
	require.Equal(t, to-from+1, total)
	require.Equal(t, source.KindBackfill, openBackfill(t, from, to, n).Kind())
}

type holed struct {
	sourcetest.Ledger
	holes []coverage.Gap
}

func (h holed) Missing(uint64, uint64) []coverage.Gap { return h.holes }

func TestBackfillNeedsARange(t *testing.T) {
	from := uint64(5)
	_, err := NewBackfill(Config{From: &from}, Deps{Client: newNode(t, sourcetest.NewChain(1, 1))})
	require.ErrorContains(t, err, "to are required")
}

func TestBackfillStops(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	ctx, stop := context.WithCancel(t.Context())
	sink := &sourcetest.Sink{OnBlock: func(_ context.Context, b *chain.Block) error {
		if b.Slot == c[3].Slot {
			stop()
		}
		return nil
	}}
	from, to := ends(c)
	require.NoError(t, openBackfill(t, *from, *to, newNode(t, c)).Run(ctx, sourcetest.Ledger{}, sink))
	require.Less(t, len(sink.Blocks()), len(c))
}

// TestGapsAreWhatLiesBetweenKnownSlots: neither what came before the ledger began nor what is still
// to come.
func TestGapsAreWhatLiesBetweenKnownSlots(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	n := newNode(t, c)
	g, err := NewGaps(Config{firstPause: time.Millisecond, poll: time.Millisecond}, Deps{Client: n})
	require.NoError(t, err)
	require.Equal(t, source.KindBackfill, g.Kind())
	holes := []coverage.Gap{
		{FromSlot: 0, ToSlot: c[3].Slot}, {FromSlot: c[8].Slot, ToSlot: c[10].Slot}, {FromSlot: c[25].Slot, ToSlot: c[25].Slot},
		{FromSlot: c[39].Slot + 1, ToSlot: 1<<64 - 1},
	}
	sink := &sourcetest.Sink{}
	require.NoError(t, g.Run(t.Context(), holed{sourcetest.Ledger{From: 5000}, holes}, sink))
	sourcetest.RequireChain(t, append(append(sourcetest.Chain{}, c[8:11]...), c[25]), sink.Blocks())
	read, total := sink.ProgressSaid()
	require.Equal(t, c[10].Slot-c[8].Slot+2, total)
	require.Equal(t, total, read)

	none := &sourcetest.Sink{}
	require.NoError(t, g.Run(t.Context(), holed{sourcetest.Ledger{}, nil}, none))
	require.Empty(t, none.Blocks())
	from := uint64(1)
	_, err = NewGaps(Config{From: &from}, Deps{Client: n})
	require.Error(t, err)
}
