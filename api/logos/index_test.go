package logos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestTheOriginalOfALogoIsNoCopy however often it is checked again.
func TestTheOriginalOfALogoIsNoCopy(t *testing.T) {
	x, original, copier := newIndex(), pubkey.Key{1}, pubkey.Key{2}
	check := func(mint pubkey.Key, slot, number, look uint64) {
		x.apply(&eventspb.Enrichment{Mint: mint[:], Slot: slot, Fact: &eventspb.Enrichment_Logo{Logo: &eventspb.Logo{
			Check: number, ContentHash: make([]byte, 32), PerceptualHash: &look,
		}}})
	}
	requireOriginal := func(mint, other pubkey.Key) {
		t.Helper()
		require.False(t, x.copied(mint))
		require.True(t, x.copied(other))
		require.Equal(t, 2, x.similar(mint))
	}
	check(original, 100, 1, 8)
	check(copier, 200, 1, 8)
	check(original, 300, 2, 8)
	check(original, 300, 3, 8)
	requireOriginal(original, copier)
	takeBack := func(mint pubkey.Key, slot uint64) {
		x.apply(factrecord.Decision{At: time.UnixMilli(1)}.Retract(mint, factrecord.Ranges([]uint64{slot}))[0])
	}
	takeBack(original, 300) // a check that was not the first
	requireOriginal(original, copier)
	check(original, 400, 4, 8)
	requireOriginal(original, copier)
	takeBack(original, 100) // shown since, but not by then
	requireOriginal(copier, original)
	takeBack(copier, 200) // and not shown again yet
	requireOriginal(original, copier)
	check(copier, 500, 2, 8)
	requireOriginal(original, copier)

	// Who showed another picture in between shows the look anew.
	check(original, 600, 5, 16)
	require.False(t, x.copied(original))
	require.Equal(t, 1, x.similar(copier))
	check(original, 700, 6, 8)
	requireOriginal(copier, original)
}

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
