package logos

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func TestOperatorsDecide(t *testing.T) {
	w := newWorld()
	w.serve = func(request imageload.Request) (*imageload.Image, error) { return good(request.URL), nil }
	w.start(t)
	w.document(t, "a", "https://a.test/own")
	w.await(t, "a", 1)
	w.override(t, "a", &eventspb.LogoOverride{Version: 5, Url: "https://ours.test/x"})
	require.Equal(t, "https://ours.test/x", w.await(t, "a", 2)[1].GetUrl())
	require.Equal(t, registry.LogoOK, w.status(t, "a"))

	w.override(t, "a", &eventspb.LogoOverride{Version: 6, None: true})
	require.Eventually(t, func() bool { return w.latest.table.count(registry.LogoMissing) == 1 }, 30*time.Second, time.Millisecond)
	require.Equal(t, registry.LogoMissing, w.status(t, "a"))

	// Back to its own, and nothing counts that was fetched before.
	before := w.loaded("https://a.test/own")
	w.override(t, "a", &eventspb.LogoOverride{Version: 7, Purge: 7})
	list := w.await(t, "a", 3)
	require.EqualValues(t, 7, list[len(list)-1].GetPurge())
	require.Equal(t, before+1, w.loaded("https://a.test/own"))
	require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)

	w.override(t, "b", &eventspb.LogoOverride{Version: 1, Url: "https://ours.test/b"})
	w.await(t, "b", 1) // a mint of which nothing else is known
}

func TestListsAndImports(t *testing.T) {
	w := newWorld()
	mint := w.mint("a")
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{
		List: "b", Version: 2, LogoUri: "https://b.test/x",
	}}})
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{
		List: "a", Version: 1, LogoUri: "https://a.test/x",
	}}})
	imported := w.mint("imported")
	var facts []*eventspb.Fact
	for _, enrichment := range []*eventspb.Enrichment{
		{Mint: imported[:], Slot: 9, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: []byte("u"), Image: "https://i.test/x"}}},
		{Mint: imported[:], Slot: 9, Fact: &eventspb.Enrichment_Logo{Logo: &eventspb.Logo{Url: "https://i.test/x", Status: 1, Check: 4}}},
	} {
		for _, fact := range registry.FactsOfEnrichment(enrichment) {
			facts = append(facts, registry.ImportedFact(fact))
		}
	}
	w.write(t, &eventspb.Enrichment{Mint: imported[:], Fact: &eventspb.Enrichment_Facts{Facts: &eventspb.Facts{Facts: facts}}})
	w.start(t)
	require.Equal(t, "https://a.test/x", w.await(t, "a", 1)[0].GetUrl(), "the list whose name is first")
	require.Zero(t, w.loaded("https://i.test/x"), "what another node checked is looked at in its time")
	w.pass(8 * 24 * time.Hour)
	require.EqualValues(t, 5, w.await(t, "imported", 1)[0].GetCheck())
}

// TestADocumentOfAnotherURIDoesNotCount: the token's URI changes, and there is no document behind
// the new one. The list's logo is the token's then, until the URI is the old one again.
func TestADocumentOfAnotherURIDoesNotCount(t *testing.T) {
	w := newWorld()
	w.serve = func(request imageload.Request) (*imageload.Image, error) { return good(request.URL), nil }
	w.start(t)
	mint := w.mint("a")
	uriSet := func(slot uint64, uri string) {
		w.write(t, &eventspb.Enrichment{Mint: mint[:], Slot: slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{
			Metadata: &eventspb.MetadataSet{MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Uri: []byte(uri)},
		}}})
	}
	w.slot = 9
	w.document(t, "a", "https://a.test/own")
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: &eventspb.TokenListEntry{
		List: "l", Version: 1, LogoUri: "https://list.test/x",
	}}})
	w.failing(t, "a", 10, "u", 1, w.now().Add(time.Hour))
	require.Equal(t, "https://a.test/own", w.await(t, "a", 1)[0].GetUrl(), "a document of this URI was read once")
	for i, step := range []struct {
		slot         uint64
		uri, fetched string
	}{{20, "v", "https://list.test/x"}, {30, "u", "https://a.test/own"}, {40, "w", "https://list.test/x"}} {
		uriSet(step.slot, step.uri)
		w.failing(t, "a", step.slot, step.uri, 1, w.now().Add(time.Hour))
		w.failing(t, "a", step.slot-11, "stale", 9, w.now().Add(time.Hour))
		require.Equal(t, step.fetched, w.await(t, "a", i+2)[i+1].GetUrl())
		require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)
	}
	// The last URI was a lie, and is taken back.
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_Retraction{
		Retraction: &eventspb.Retraction{Version: 1, Slots: []*eventspb.SlotRange{{From: 40, To: 40}}},
	}})
	w.failing(t, "a", 40, "w", 2, w.now().Add(time.Hour))
	uriSet(41, "u")
	require.Equal(t, "https://a.test/own", w.await(t, "a", 5)[4].GetUrl())
	require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)
}

// TestALogoAtASlotThatWasTakenBackIsCheckedAnew: else every later check would have the slot of the
// lie, where no fact is believed.
func TestALogoAtASlotThatWasTakenBackIsCheckedAnew(t *testing.T) {
	w := newWorld()
	w.serve = func(request imageload.Request) (*imageload.Image, error) { return good(request.URL), nil }
	w.start(t)
	const lie = 1 << 60
	honest := w.slot
	w.slot = lie
	w.document(t, "a", "https://a.test/own")
	w.await(t, "a", 1)
	mint := w.mint("a")
	w.write(t, &eventspb.Enrichment{Mint: mint[:], Fact: &eventspb.Enrichment_Retraction{
		Retraction: &eventspb.Retraction{Version: 1, Slots: []*eventspb.SlotRange{{From: lie, To: math.MaxUint64}}},
	}})
	w.slot = honest
	w.document(t, "a", "https://a.test/own")
	checks := w.await(t, "a", 2)
	require.EqualValues(t, 2, checks[1].GetCheck())
	w.slot = lie
	w.document(t, "a", "https://a.test/lie")
	w.slot = honest + 1
	w.document(t, "a", "https://a.test/new")
	require.Equal(t, "https://a.test/new", w.await(t, "a", 3)[2].GetUrl())
	require.Zero(t, w.loaded("https://a.test/lie"))
	require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)
}
