package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func listed(list string, version uint64, entry *eventspb.TokenListEntry) registrytest.Message {
	entry.List, entry.Version = list, version
	return registrytest.Message{Enrichment: &eventspb.Enrichment{
		Mint: registrytest.Mint(1), Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: entry},
	}}
}

func enriched(slot uint64, fact func(*eventspb.Enrichment)) registrytest.Message {
	e := &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: slot}
	fact(e)
	return registrytest.Message{Enrichment: e}
}

func tokenOf(messages ...registrytest.Message) (registry.Token, bool) {
	mint := pubkey.Key(registrytest.Mint(1))
	return fold(messages)[mint].Token(mint)
}

func TestTokenListFillsOnlyWhatIsEmpty(t *testing.T) {
	entry := func() *eventspb.TokenListEntry {
		return &eventspb.TokenListEntry{
			Name: "List name", Symbol: "LIST", LogoUri: "https://list/logo.png", Tags: []string{"meme"},
			Extensions: map[string]string{"website": "https://list"},
		}
	}
	chain := enriched(5, func(e *eventspb.Enrichment) {
		e.Fact = &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte("Chain name"), Symbol: []byte{}, Uri: []byte("https://u"),
		}}}
	})
	document := enriched(5, func(e *eventspb.Enrichment) {
		e.Fact = &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://u"), Symbol: "DOC", Tags: []string{"doc"}}}
	})

	token, member := tokenOf(listed("a", 1, entry()), read(3, 100))
	require.True(t, member)
	require.Equal(t, "List name", token.Name)
	require.Equal(t, "LIST", token.Symbol)
	require.Equal(t, "https://list/logo.png", *token.LogoURL)
	require.Equal(t, registry.LogoUnchecked, token.LogoStatus)
	require.Equal(t, []string{"meme"}, token.Tags)

	token, _ = tokenOf(listed("a", 1, entry()), read(3, 100), chain, document)
	require.Equal(t, "Chain name", token.Name, "the chain goes first")
	require.Equal(t, "DOC", token.Symbol, "then the document of the chain's URI")
	require.Equal(t, "https://list/logo.png", *token.LogoURL, "the list fills what both leave empty")
	require.Equal(t, []string{"meme", "doc"}, token.Tags, "tags are those of all")
	require.Equal(t, map[string]string{"website": "https://list"}, token.Extensions)
}

// TestOnlyListsGiveReservedTags: a creator writes the document, and could claim anything in it.
func TestOnlyListsGiveReservedTags(t *testing.T) {
	chain := enriched(5, func(e *eventspb.Enrichment) {
		e.Fact = &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Uri: []byte("https://u"),
		}}}
	})
	document := enriched(6, func(e *eventspb.Enrichment) {
		e.Fact = &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{
			Uri: []byte("https://u"), Tags: []string{"verified", "meme", "Verified", " VERIFIED! ", "ver-ified", "strict", "LST", "unverified", "meme"},
		}}
	})
	token, _ := tokenOf(read(3, 100), chain, document)
	require.Equal(t, []string{"meme", "unverified"}, token.Tags)

	token, _ = tokenOf(read(3, 100), chain, document,
		listed("b", 1, &eventspb.TokenListEntry{Tags: []string{"verified", "stablecoin"}}), listed("a", 1, &eventspb.TokenListEntry{Tags: []string{"stablecoin"}}))
	require.Equal(t, []string{"stablecoin", "verified", "meme", "unverified"}, token.Tags, "a list gives it, and the creator's tags do not hide the list's")

	token, _ = tokenOf(read(3, 100), chain, enriched(6, func(e *eventspb.Enrichment) {
		e.Fact = &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://u"), Tags: []string{"verified"}}}
	}))
	require.Nil(t, token.Tags)
}

func TestTokenListMakesNoMember(t *testing.T) {
	decimals := uint32(6)
	_, member := tokenOf(listed("a", 1, &eventspb.TokenListEntry{Name: "Fake", Symbol: "USDC", Decimals: &decimals}))
	require.False(t, member)
}

func TestNewerListHoldsAndNamesDecideBetweenLists(t *testing.T) {
	token, _ := tokenOf(read(3, 1), listed("b", 9, &eventspb.TokenListEntry{Name: "b new"}), listed("b", 8, &eventspb.TokenListEntry{Name: "b old"}))
	require.Equal(t, "b new", token.Name)
	token, _ = tokenOf(read(3, 1), listed("b", 9, &eventspb.TokenListEntry{Name: "from b", Symbol: "B"}), listed("a", 1, &eventspb.TokenListEntry{Name: "from a"}))
	require.Equal(t, "from a", token.Name)
	require.Equal(t, "B", token.Symbol)
}

func TestImportedFactsAreTheFactsThatWereExported(t *testing.T) {
	for mint, state := range fold([]registrytest.Message{
		event(1, 0, initialize), event(1, 1, mintTo(5)), read(4, 7), listed("a", 1, &eventspb.TokenListEntry{Name: "x"}),
	}) {
		facts := &eventspb.Facts{}
		for _, fact := range state.Facts() {
			facts.Facts = append(facts.Facts, registry.ImportedFact(fact))
		}
		facts.Facts = append(facts.Facts, &eventspb.Fact{Register: 0}, &eventspb.Fact{Register: 256})
		var imported registry.State
		for _, fact := range registry.FactsOfEnrichment(&eventspb.Enrichment{
			Mint: registrytest.Mint(1), Slot: 99, Fact: &eventspb.Enrichment_Facts{Facts: facts},
		}) {
			require.True(t, imported.Apply(fact))
		}
		require.Equal(t, state, &imported, mint)
	}
}
