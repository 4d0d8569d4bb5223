package repair

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
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

// lacking is a ledger that lacks some runs of slots and whatever lies above them.
type lacking struct {
	sourcetest.Ledger
	runs []coverage.Gap
	top  uint64 // from here on nothing is ingested
}

func (l *lacking) Missing(from, to uint64) (missing []coverage.Gap) {
	for _, run := range append(l.runs[:len(l.runs):len(l.runs)], coverage.Gap{FromSlot: l.top, ToSlot: to}) {
		if first, last := max(from, run.FromSlot), min(to, run.ToSlot); first <= last {
			missing = append(missing, coverage.Gap{FromSlot: first, ToSlot: last})
		}
	}
	return missing
}

// slow is a filler that takes a second for a call, and notes what it is asked for.
type slow struct {
	asked  []Gap
	onFill func()
}

func (s *slow) Fill(_ context.Context, from, to uint64, _ source.Ledger, _ source.Sink) error {
	s.asked = append(s.asked, Gap{from, to})
	time.Sleep(time.Second)
	if s.onFill != nil {
		s.onFill()
	}
	return nil
}

const someTip = 400_000_000

// repairing runs a repairer for a while, after begin. It returns what the filler was asked for.
func repairing(t *testing.T, ledger source.Ledger, begin func(r *Repairer, filler *slow), forTime time.Duration) (asked []Gap, logged string) {
	t.Helper()
	metrics, err := source.NewMetrics(source.KindGeyser, nil)
	require.NoError(t, err)
	carrier, filler, out := order.NewCarrier(&sourcetest.Sink{}, nil, metrics), &slow{}, &bytes.Buffer{}
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{Every: 10 * time.Second, Resume: someTip}, Deps{
			Ledger: ledger, Sink: carrier, Filler: filler, Time: &carrier.Time, Metrics: metrics, Logger: slog.New(slog.NewTextHandler(out, nil)),
		})
		begin(r, filler)
		ctx, cancel := context.WithTimeout(t.Context(), forTime)
		defer cancel()
		require.ErrorIs(t, r.Run(ctx), context.DeadlineExceeded)
	})
	return filler.asked, out.String()
}

// TestOfALongGapTheLastDayIsFilled: a node that was off for ten days reads the last one. The rest
// is left to a backfill, and the log says so.
func TestOfALongGapTheLastDayIsFilled(t *testing.T) {
	const tenDays, day = 4_320_000, 432_000
	asked, logged := repairing(t, &lacking{top: someTip + 1}, func(r *Repairer, _ *slow) {
		r.At(someTip)
		r.OnGap(someTip+1, someTip+tenDays)
		r.At(someTip + tenDays + 1)
	}, time.Hour)
	next := uint64(someTip + tenDays + 1 - day)
	require.GreaterOrEqual(t, len(asked), day/maxPart)
	for _, part := range asked[:day/maxPart] {
		require.Equal(t, next, part.From, "nothing is left out, the oldest slots come first")
		require.LessOrEqual(t, part.To-part.From+1, uint64(maxPart))
		next = part.To + 1
	}
	require.EqualValues(t, someTip+tenDays+1, next)
	for _, part := range asked {
		require.GreaterOrEqual(t, part.From, uint64(someTip+tenDays+1-day))
	}
	require.Contains(t, logged, "left to a backfill")
	require.Contains(t, logged, "from_slot=400000001 to_slot=403888000")
}

// TestALongGapHoldsUpNoOtherGap: a new gap near the tip, and an old one that the ledger shows, are
// filled before the long one is done.
func TestALongGapHoldsUpNoOtherGap(t *testing.T) {
	const slots = 100_000
	old := coverage.Gap{FromSlot: someTip - 500, ToSlot: someTip - 498}
	asked, _ := repairing(t, &lacking{runs: []coverage.Gap{old}, top: someTip + 1}, func(r *Repairer, filler *slow) {
		r.At(someTip)
		r.OnGap(someTip+1, someTip+slots)
		filler.onFill = func() {
			r.At(someTip + slots + 20)
			r.OnGap(someTip+slots+10, someTip+slots+12)
			filler.onFill = nil
		}
	}, time.Minute)
	require.Contains(t, asked[:3], Gap{someTip + slots + 10, someTip + slots + 12})
	require.Contains(t, asked, Gap{old.FromSlot, old.ToSlot})
	require.Less(t, asked[len(asked)-1].To, uint64(someTip+slots), "the long one is not done yet")
	seen := map[uint64]int{}
	for _, part := range asked {
		if part.From > someTip {
			seen[part.From]++
			require.Equal(t, 1, seen[part.From], "what waits is not put in line again")
		}
	}
}

// TestANewGapDoesNotWaitForAllOldOnes: a pass over the gaps of the ledger looks at what is new.
func TestANewGapDoesNotWaitForAllOldOnes(t *testing.T) {
	l := &lacking{top: someTip + 100}
	for slot := uint64(someTip - 10_000); slot < someTip; slot += 2 {
		l.runs = append(l.runs, coverage.Gap{FromSlot: slot, ToSlot: slot})
	}
	asked, _ := repairing(t, l, func(r *Repairer, filler *slow) {
		r.At(someTip + 50)
		filler.onFill = func() {
			if len(filler.asked) == 5 {
				r.OnGap(someTip+100, someTip+101)
			}
		}
	}, 2*time.Minute)
	require.Contains(t, asked[5:7], Gap{someTip + 100, someTip + 101})
	for i, part := range asked[:5] {
		require.EqualValues(t, someTip-10_000+2*i, part.From, "each gets its turn, the oldest first")
	}
}
