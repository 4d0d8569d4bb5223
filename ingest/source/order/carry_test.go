package order

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// TestKnownBlocksAreCounted: a block that the sink knows, or that the source found known, counts as
// known and not as delivered; no sink gets the latter.
func TestKnownBlocksAreCounted(t *testing.T) {
	c := sourcetest.NewChain(1000, 3)
	registry := prometheus.NewRegistry()
	metrics, err := source.NewMetrics(source.KindRPC, registry)
	require.NoError(t, err)
	sink := &sourcetest.Sink{Ledger: sourcetest.LedgerOf(c, 1)}
	found := block(c[1])
	found.Known = true
	require.NoError(t, NewCarrier(sink, nil, metrics).Carry(t.Context(), []Step{
		{Kind: Deliver, Block: block(c[0])}, {Kind: Deliver, Block: found}, {Kind: Deliver, Block: block(c[2])},
	}))
	require.Equal(t, chainSlots(c[2:]), sink.Slots())
	for name, want := range map[string]float64{"known_blocks_total": 2, "blocks_total": 1} {
		require.InDelta(t, want, valueOf(t, registry, "mintlake_source_"+name), 0)
	}
}

// valueOf is the value of a counter with one series.
func valueOf(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

// TestCarrierTellsDeadFromSkipped: a slot in which the stream reported a block, and that the chain
// skips, is dead, whichever of the two is known first.
func TestCarrierTellsDeadFromSkipped(t *testing.T) {
	metrics, err := source.NewMetrics(source.KindGeyser, nil)
	require.NoError(t, err)
	sink := &sourcetest.Sink{}
	c := NewCarrier(sink, nil, metrics)
	require.NoError(t, c.Seen(t.Context(), 5))
	require.NoError(t, c.Skipped(t.Context(), 5))
	require.NoError(t, c.Skipped(t.Context(), 6))
	require.NoError(t, c.Skipped(t.Context(), 7))
	require.NoError(t, c.Seen(t.Context(), 6))
	require.Equal(t, []uint64{5, 6}, sink.DeadSlots())
	require.Equal(t, []uint64{6, 7}, sink.SkippedSlots())
}
