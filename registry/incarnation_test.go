package registry_test

import (
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func closeMint(e *eventspb.TokenEvent) {
	e.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
}

func extension(name, attribute, value string) func(*eventspb.TokenEvent) {
	return func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: &eventspb.ExtensionSet{
			Extension: name, Attributes: []*eventspb.Attribute{{Name: attribute, Value: value}},
		}}
	}
}

func ownMetadata(set *eventspb.MetadataSet) func(*eventspb.TokenEvent) {
	set.MetadataProgram = eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022
	return func(e *eventspb.TokenEvent) { e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: set} }
}

func pointsToItself(e *eventspb.TokenEvent) {
	extension(registry.ExtensionMetadataPointer, registry.AttributeMetadataAddress, base58.Encode(e.GetMint()))(e)
}

// inAnyOrder checks the only mint of messages in their order and in the opposite one.
func inAnyOrder(t *testing.T, messages []registrytest.Message, check func(*registry.State, registry.Token)) {
	t.Helper()
	backwards := make([]registrytest.Message, len(messages))
	for i := range messages {
		backwards[len(messages)-1-i] = messages[i]
	}
	for _, order := range [][]registrytest.Message{messages, backwards} {
		states := fold(order)
		require.Len(t, states, 1)
		for mint, state := range states {
			token, _ := state.Token(mint)
			check(state, token)
		}
	}
}

func held(state *registry.State, register registry.Register, item string) bool {
	for _, fact := range state.Facts() {
		if fact.Register == register && fact.Item == item {
			return true
		}
	}
	return false
}

// A mint that was closed and made again at its address is another token.
func TestAMintMadeAgainBeginsAnew(t *testing.T) {
	inAnyOrder(t, []registrytest.Message{
		event(1, 0, extension("permanent_delegate", "delegate", "somebody")),
		event(1, 1, pointsToItself),
		event(1, 2, initialize),
		event(1, 3, ownMetadata(&eventspb.MetadataSet{Creates: true, Name: []byte("Old"), Symbol: []byte("OLD"), Uri: []byte("u"), UpdateAuthority: registrytest.Mint(3)})),
		event(1, 4, ownMetadata(&eventspb.MetadataSet{AdditionalFields: []*eventspb.AdditionalField{{Key: []byte("site"), Value: []byte("old")}}})),
		event(2, 0, mintTo(100)),
		read(3, 100),
		event(4, 0, burn(100)),
		event(5, 0, closeMint),
		// before the mint is initialised, as the program wants it
		event(5, 1, extension("transfer_hook", "program_id", "hook")),
		event(6, 0, initialize),
		event(6, 1, mintTo(7)),
	}, func(state *registry.State, token registry.Token) {
		require.Equal(t, "7", *token.Supply)
		require.Empty(t, token.Name)
		require.Empty(t, token.Symbol)
		require.Nil(t, token.MetaplexURI)
		require.Nil(t, token.UpdateAuthority)
		require.Nil(t, token.Extensions)
		require.Equal(t, []string{"transfer_hook"}, state.Extensions())
		require.False(t, held(state, registry.RegisterExtension, "permanent_delegate.delegate"))
		require.False(t, held(state, registry.RegisterMetadataPointer, ""))
	})
}

// Where the closing was not seen, the initialisation still ends what only an initialised mint can
// hold.
func TestAnInitialisationEndsTheMetadataBeforeIt(t *testing.T) {
	inAnyOrder(t, []registrytest.Message{
		event(1, 1, pointsToItself),
		event(1, 2, ownMetadata(&eventspb.MetadataSet{Name: []byte("Old"), AdditionalFields: []*eventspb.AdditionalField{{Key: []byte("site"), Value: []byte("old")}}})),
		event(6, 0, initialize),
	}, func(_ *registry.State, token registry.Token) {
		require.Empty(t, token.Name)
		require.Nil(t, token.Extensions)
	})
}

// Metaplex keeps its account when the mint is closed: it is the new incarnation's metadata as well.
func TestMetaplexMetadataOutlivesTheMint(t *testing.T) {
	inAnyOrder(t, []registrytest.Message{
		event(1, 0, initialize),
		event(1, 1, func(e *eventspb.TokenEvent) {
			e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
				MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, Name: []byte("Kept"),
			}}
		}),
		event(2, 0, closeMint),
		event(3, 0, initialize),
	}, func(_ *registry.State, token registry.Token) { require.Equal(t, "Kept", token.Name) })
}

func TestAdditionalFieldsAreTheTokensLinks(t *testing.T) {
	set := func(key, value string) func(*eventspb.TokenEvent) {
		return ownMetadata(&eventspb.MetadataSet{AdditionalFields: []*eventspb.AdditionalField{{Key: []byte(key), Value: []byte(value)}}})
	}
	remove := func(key string) func(*eventspb.TokenEvent) {
		return ownMetadata(&eventspb.MetadataSet{AdditionalFields: []*eventspb.AdditionalField{{Key: []byte(key), Removed: true}}})
	}
	messages := []registrytest.Message{
		event(1, 0, pointsToItself),
		event(1, 1, initialize),
		event(1, 2, ownMetadata(&eventspb.MetadataSet{Creates: true, Name: []byte("N"), Uri: []byte("u")})),
		event(2, 0, set("website", "https://a.example")),
		event(2, 1, set("twitter", "@a\x00\x00")),
		event(2, 2, set("telegram", "t")),
		event(3, 0, remove("telegram")),
		{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: 3, Fact: &eventspb.Enrichment_Offchain{Offchain: &eventspb.OffchainMetadata{
			Uri: []byte("u"), Extensions: map[string]string{"website": "https://document.example", "discord": "d"},
		}}}},
	}
	inAnyOrder(t, messages, func(state *registry.State, token registry.Token) {
		require.Equal(t, map[string]string{"website": "https://a.example", "twitter": "@a", "discord": "d"}, token.Extensions)
		require.Contains(t, state.Extensions(), registry.ExtensionTokenMetadata)
	})
	// A read says all there are.
	account := &eventspb.MintAccount{ProgramId: registrytest.Mint(9), TokenMetadata: &eventspb.MetadataSet{
		MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022, AdditionalFields: []*eventspb.AdditionalField{{Key: []byte("twitter"), Value: []byte("@b")}},
	}}
	account.ProgramId, _ = base58.Decode(schemas.ProgramToken2022)
	account.MetadataPointer = registrytest.Mint(1)
	messages = append(messages, registrytest.Message{Enrichment: &eventspb.Enrichment{
		Mint: registrytest.Mint(1), Slot: 5, Fact: &eventspb.Enrichment_MintAccount{MintAccount: account},
	}}, event(6, 0, set("email", "e")))
	inAnyOrder(t, messages, func(_ *registry.State, token registry.Token) {
		require.Equal(t, map[string]string{"website": "https://document.example", "twitter": "@b", "discord": "d", "email": "e"}, token.Extensions)
	})
}

// An account that a stream showed stands behind the transaction that wrote it, and before the next
// one.
func TestAStreamedAccountCoversItsTransaction(t *testing.T) {
	order := schemas.EndOfTransaction(5, 1).Order
	account := read(5, 1000)
	account.Enrichment.Order = &order
	inAnyOrder(t, []registrytest.Message{event(5, 0, mintTo(1)), event(5, 1, mintTo(10)), account, event(5, 2, mintTo(100)), event(6, 0, mintTo(1))},
		func(_ *registry.State, token registry.Token) { require.Equal(t, "1101", *token.Supply) })
}

// The same instruction from a single transaction's file and from its block is one fact, at the
// place that the block says.
func TestAKnownPlaceWins(t *testing.T) {
	authority := func(n int) func(*eventspb.TokenEvent) {
		return func(e *eventspb.TokenEvent) {
			e.Payload = &eventspb.TokenEvent_SetAuthority{SetAuthority: &eventspb.SetAuthority{
				AuthorityType: registry.AuthorityMintTokens, NewAuthority: registrytest.Mint(n),
			}}
		}
	}
	unknown := event(3, 4, authority(5))
	unknown.Event.Position.TransactionIndex = nil
	inAnyOrder(t, []registrytest.Message{event(1, 0, initialize), event(3, 4, authority(5)), event(3, 8, authority(6)), unknown},
		func(state *registry.State, token registry.Token) {
			require.Equal(t, base58.Encode(registrytest.Mint(6)), *token.MintAuthority, "the later of the slot, by places that are known")
			for _, fact := range state.Facts() {
				require.NotEqual(t, schemas.PositionOf(unknown.Event.GetPosition(), unknown.Event.GetSignature()), fact.Position)
			}
		})
}

func launched(e *eventspb.TokenEvent) {
	e.Payload = &eventspb.TokenEvent_Launch{Launch: &eventspb.Launch{Launchpad: schemas.LaunchpadPump, Creator: registrytest.Mint(4)}}
}

func graduates(e *eventspb.TokenEvent) {
	e.Payload = &eventspb.TokenEvent_Graduate{Graduate: &eventspb.Graduate{Launchpad: schemas.LaunchpadPump}}
}

// A launch stands before the initialisation that it calls, and what was launched and closed is
// another token than what is there now.
func TestALaunchIsOfTheTokenThatIsThere(t *testing.T) {
	messages := []registrytest.Message{event(1, 0, launched), event(1, 1, initialize), event(7, 0, graduates)}
	inAnyOrder(t, messages, func(_ *registry.State, token registry.Token) {
		require.Equal(t, schemas.LaunchpadPump, *token.Launchpad)
		require.Equal(t, base58.Encode(registrytest.Mint(4)), *token.Creator)
		require.EqualValues(t, 7_000, *token.GraduatedAt)
	})
	inAnyOrder(t, append(messages, event(8, 0, closeMint), event(9, 0, initialize)), func(_ *registry.State, token registry.Token) {
		require.Nil(t, token.Launchpad)
		require.Nil(t, token.Creator)
		require.Nil(t, token.GraduatedAt)
	})
	unknown := event(7, 0, graduates)
	unknown.Event.BlockTime = 0
	inAnyOrder(t, []registrytest.Message{event(1, 1, initialize), unknown}, func(_ *registry.State, token registry.Token) {
		require.Nil(t, token.GraduatedAt, "the source does not say when")
		require.Nil(t, token.Launchpad, "its launch was not seen")
	})
}
