package logos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestACheckAtASlotThatWasTakenBackHidesNoLaterOne: its image is shown until then.
func TestACheckAtASlotThatWasTakenBackHidesNoLaterOne(t *testing.T) {
	x, mint := newIndex(), pubkey.Key{7}
	read := func(fact *eventspb.Enrichment) {
		record, err := factrecord.Record(fact, time.Time{})
		require.NoError(t, err)
		x.read(&record)
	}
	check := func(slot, number uint64, url string) {
		read(&eventspb.Enrichment{Mint: mint[:], Slot: slot, Order: &number, Fact: &eventspb.Enrichment_Logo{Logo: &eventspb.Logo{Check: number, Url: url}}})
	}
	shown := func(url string) bool {
		known := x.of(mint)
		return known.isOf(url)
	}
	const lie = 1 << 60
	check(lie, 1, "https://a.test/lie")
	check(10, 2, "https://a.test/true")
	require.True(t, shown("https://a.test/lie"))
	decision := factrecord.Decision{At: time.UnixMilli(1)}
	read(decision.Retract(mint, factrecord.Ranges([]uint64{9}))[0])
	check(10, 2, "https://a.test/true")
	require.True(t, shown("https://a.test/lie"), "it was not taken back")
	read(decision.Retract(mint, factrecord.Ranges([]uint64{lie}))[0])
	require.True(t, shown("https://a.test/lie"))
	check(10, 2, "https://a.test/true")
	require.True(t, shown("https://a.test/true"))
}
