package repair

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/registry/coverage"
)

// asked is a ledger that notes from which slot on it is asked for gaps.
type asked struct {
	sourcetest.Ledger
	from uint64
}

func (a *asked) Missing(from, _ uint64) []coverage.Gap {
	a.from = from
	return nil
}

// Gaps of a day are filled, however long the chain's slots take: as the delivered blocks tell.
func TestReachIsADayOfSlots(t *testing.T) {
	metrics, err := source.NewMetrics(source.KindGeyser, nil)
	require.NoError(t, err)
	for slotTime, aDay := range map[time.Duration]float64{200 * time.Millisecond: 432_000, 400 * time.Millisecond: 216_000} {
		carrier, ledger := order.NewCarrier(&sourcetest.Sink{}, nil, metrics), &asked{}
		const resume = 400_000_000
		r := New(Config{Resume: resume}, Deps{Ledger: ledger, Sink: carrier, Time: &carrier.Time, Metrics: metrics})
		look := func(tip uint64) float64 {
			r.At(tip)
			r.look()
			r.look()
			return float64(tip - ledger.from)
		}
		require.InDelta(t, 432_000, look(resume), 0, "before anything is measured")
		tip := uint64(resume)
		for range 1_300 {
			tip++
			at := time.Unix(1_790_000_000, 0).Add(time.Duration(tip-resume) * slotTime)
			require.NoError(t, carrier.Carry(t.Context(), []order.Step{{Kind: order.Deliver, Block: &chain.Block{Slot: tip, BlockTime: at.Unix()}}}))
			require.NoError(t, carrier.Carry(t.Context(), []order.Step{{Kind: order.Deliver, Block: &chain.Block{Slot: tip}}}), "it does not state its time")
		}
		require.InEpsilon(t, aDay, look(tip), 0.03, slotTime)
	}
}
