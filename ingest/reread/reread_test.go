package reread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/reread"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func TestSlots(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	var ledger []reread.Line
	for n := range 300 {
		line := reread.Line{Slot: uint64(1000 + n), Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED, Written: at(n)}
		if n%10 == 0 { // a backfill writes beside
			line.Slot = uint64(n)
		}
		ledger = append(ledger, line)
	}
	ledger = append(ledger, reread.Line{Slot: 1111, Status: eventspb.SlotStatus_SLOT_STATUS_DEAD, Written: at(299)})

	require.Empty(t, reread.Slots(ledger, nil))
	slots := reread.Slots(ledger, []reread.Window{{From: at(100), To: at(105)}})
	require.Contains(t, slots, uint64(100), "the backfill's")
	require.Contains(t, slots, uint64(1101))
	require.Contains(t, slots, uint64(1105))
	require.Contains(t, slots, uint64(1105+reread.Ahead), "a block that was under way")
	require.NotContains(t, slots, uint64(1111), "a dead block is not read again")
	require.NotContains(t, slots, uint64(1089))
	require.NotContains(t, slots, uint64(1190))
	require.IsIncreasing(t, slots)

	require.Len(t, reread.Slots(ledger, []reread.Window{{}}), 299, "open on both sides: all")
	require.Len(t, reread.Slots(ledger, []reread.Window{{From: at(290)}}), 20)
}

// TestSlotsOfAClockThatWasSet: times in the ledger go back and ahead; the slots of the damage are
// found all the same.
func TestSlotsOfAClockThatWasSet(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	ledger := func(written func(n int) time.Time) (lines []reread.Line) {
		for n := range 300 {
			lines = append(lines, reread.Line{Slot: uint64(1000 + n), Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED, Written: written(n)})
		}
		return lines
	}
	requireSlots := func(slots []uint64, from, to uint64) {
		t.Helper()
		for slot := from; slot <= to; slot++ {
			require.Contains(t, slots, slot)
		}
		require.Less(t, len(slots), 250)
	}
	ahead := ledger(func(n int) time.Time {
		if n >= 10 && n <= 80 { // more lines than Ahead
			return at(n).Add(24 * time.Hour)
		}
		return at(n)
	})
	requireSlots(reread.Slots(ahead, []reread.Window{{From: at(100), To: at(105)}}), 1100, 1105+reread.Ahead)
	back := ledger(func(n int) time.Time {
		if n >= 160 {
			return at(n - 60)
		}
		return at(n)
	})
	requireSlots(reread.Slots(back, []reread.Window{{From: at(159), To: at(102)}}), 1159, 1162+reread.Ahead)
	// No line was written within the window: those behind it count.
	pause := ledger(func(n int) time.Time {
		if n >= 150 {
			return at(n + 1000)
		}
		return at(n)
	})
	requireSlots(reread.Slots(pause, []reread.Window{{From: at(500), To: at(501)}}), 1150, 1149+reread.Ahead)
}
