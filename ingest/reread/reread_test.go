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
