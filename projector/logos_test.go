package projector_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestLogosAndDocuments: repeats and any order leave the last check of each mint, who copied whom,
// and the documents as they came.
func TestLogosAndDocuments(t *testing.T) {
	conn, store := migrated(t)
	look := uint64(0xfeedfacecafebeef)
	check := func(mint int, slot, number uint64, status eventspb.LogoStatus, good bool) *eventspb.Enrichment {
		logo := &eventspb.Logo{Url: "https://a.test/x", Status: status, Check: number, CheckedAtMs: 1_700_000_000_123, ErrorClass: "http_status", HttpStatus: 404}
		if good {
			logo.ContentHash, logo.ContentType, logo.PerceptualHash = slices.Repeat([]byte{7}, 32), "image/png", &look
			logo.ErrorClass, logo.HttpStatus = "", 0
		}
		return &eventspb.Enrichment{Mint: registrytest.Mint(mint), Slot: slot, Fact: &eventspb.Enrichment_Logo{Logo: logo}}
	}
	const ok, broken = eventspb.LogoStatus_LOGO_STATUS_OK, eventspb.LogoStatus_LOGO_STATUS_BROKEN
	messages := []*eventspb.Enrichment{
		check(1, 9, 1, ok, true), check(1, 9, 2, broken, true), check(2, 5, 1, ok, true), check(2, 12, 2, ok, true), check(3, 7, 1, broken, false),
		{Mint: registrytest.Mint(1), Slot: 9, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{
			Uri: []byte("https://a.test/1.json"), Raw: []byte(`{"name":"x","attributes":[1]}`), RawSize: 29,
		}}},
	}
	for range 2 {
		slices.Reverse(messages)
		for _, message := range messages {
			batch := &projector.Batch{}
			batch.AddEnrichment(message)
			require.NoError(t, store.Write(t.Context(), batch))
		}
	}
	one := func(query string) (row string) {
		t.Helper()
		require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&row))
		return row
	}
	require.Equal(t, "5 3", one("SELECT concat(toString((SELECT count() FROM mintlake.logo_checks)), ' ', toString((SELECT count() FROM mintlake.logos)))"))
	require.Equal(t, "broken 2 0 2023-11-14 22:13:20.123", one(`SELECT concat(status, ' ', toString(check_number), ' ', toString(http_status), ' ', toString(checked_at))
		FROM mintlake.logos WHERE slot = 9`))
	first := one("SELECT mint FROM mintlake.logos WHERE slot = 12")
	other := one("SELECT mint FROM mintlake.logos WHERE slot = 9")
	// The mint that showed it first stays that when it is checked again.
	require.Equal(t, "2 "+first+" "+other, one("SELECT concat(toString(mints), ' ', first, ' ', arrayStringConcat(others, ',')) FROM mintlake.copied_logos"))
	require.Equal(t, "1", one("SELECT toString(JSONExtractInt(document, 'attributes', 1)) FROM mintlake.off_chain_documents"))
}
