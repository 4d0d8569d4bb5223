package registry_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// fold applies the facts of messages in order and returns the states by mint.
func fold(messages []registrytest.Message) map[pubkey.Key]*registry.State {
	states := map[pubkey.Key]*registry.State{}
	for _, message := range messages {
		for _, fact := range message.Facts() {
			state, ok := states[fact.Mint]
			if !ok {
				state = new(registry.State)
				states[fact.Mint] = state
			}
			state.Apply(fact)
		}
	}
	return states
}

// foldOne is fold of messages that are all about one mint.
func foldOne(t *testing.T, messages ...registrytest.Message) (mint pubkey.Key, state *registry.State) {
	t.Helper()
	states := fold(messages)
	require.Len(t, states, 1, "the messages are about one mint")
	for mint, state = range states {
		break
	}
	return mint, state
}

func TestFoldForgetsOrderRepeatsAndSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := registrytest.Messages(40).Draw(t, "messages")
		want := fold(messages)

		again := append([]registrytest.Message{}, messages...)
		again = append(again, messages[:rapid.IntRange(0, len(messages)).Draw(t, "repeated")]...)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 1))
		random.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		require.Equal(t, want, fold(again), "shuffled and repeated")

		// Two nodes that saw a part each, joined by handing over the facts that hold.
		cut := rapid.IntRange(0, len(messages)).Draw(t, "cut")
		joined := fold(messages[cut:])
		for mint, state := range fold(messages[:cut]) {
			for _, fact := range state.Facts() {
				if joined[mint] == nil {
					joined[mint] = new(registry.State)
				}
				joined[mint].Apply(fact)
			}
		}
		require.Equal(t, want, joined, "split")
	})
}

func TestApplyingWhatIsKnownChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := registrytest.Messages(20).Draw(t, "messages")
		states := fold(messages)
		for _, message := range messages {
			for _, fact := range message.Facts() {
				require.False(t, states[fact.Mint].Apply(fact))
			}
		}
	})
}

func event(slot uint64, index uint32, payload func(*eventspb.TokenEvent)) registrytest.Message {
	e := &eventspb.TokenEvent{
		Position:  &eventspb.Position{Slot: slot, TransactionIndex: &index},
		BlockTime: int64(slot),
		Signature: append([]byte{byte(slot), byte(index)}, make([]byte, 62)...),
		ProgramId: registrytest.Mint(9),
		Mint:      registrytest.Mint(1),
	}
	payload(e)
	return registrytest.Message{Event: e}
}

func initialize(e *eventspb.TokenEvent) {
	e.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{Decimals: 6, MintAuthority: registrytest.Mint(7)}}
}

func mintTo(amount uint64) func(*eventspb.TokenEvent) {
	return func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: amount}}
	}
}

func burn(amount uint64) func(*eventspb.TokenEvent) {
	return func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: amount}}
	}
}

func read(slot, supply uint64) registrytest.Message {
	return registrytest.Message{Enrichment: &eventspb.Enrichment{
		Mint: registrytest.Mint(1), Slot: slot,
		Fact: &eventspb.Enrichment_MintAccount{MintAccount: &eventspb.MintAccount{ProgramId: registrytest.Mint(9), Decimals: 6, Supply: supply}},
	}}
}

func TestSupply(t *testing.T) {
	for _, c := range []struct {
		name     string
		messages []registrytest.Message
		want     any
	}{
		{"creation seen", []registrytest.Message{event(1, 0, initialize), event(1, 1, mintTo(100)), event(2, 0, burn(30))}, "70"},
		{"neither created nor read", []registrytest.Message{event(1, 1, mintTo(100))}, nil},
		{"a read covers its slot", []registrytest.Message{event(5, 1, mintTo(100)), read(5, 1000), event(6, 0, mintTo(1))}, "1001"},
		{"an older read is no news", []registrytest.Message{event(5, 0, initialize), event(5, 1, mintTo(100)), read(4, 7)}, "100"},
		{"repeats count once", []registrytest.Message{event(1, 0, initialize), event(1, 1, mintTo(100)), event(1, 1, mintTo(100))}, "100"},
		{"more burnt than known", []registrytest.Message{event(1, 0, initialize), event(2, 0, burn(30))}, nil},
		{"all of u64", []registrytest.Message{event(1, 0, initialize), event(1, 1, mintTo(1<<64-1))}, "18446744073709551615"},
		{"beyond u64", []registrytest.Message{event(1, 0, initialize), event(1, 1, mintTo(1<<64-1)), event(1, 2, mintTo(1))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			mint, state := foldOne(t, c.messages...)
			token, _ := state.Token(mint)
			if c.want == nil {
				require.Nil(t, token.Supply)
			} else {
				require.NotNil(t, token.Supply)
				require.Equal(t, c.want, *token.Supply)
			}
		})
	}
}

func TestSupplyCountsOnceWhenTheIndexIsKnownToOneSourceOnly(t *testing.T) {
	known := event(3, 8, mintTo(50))
	unknown := event(3, 8, mintTo(50))
	unknown.Event.Position.TransactionIndex = nil
	mint, state := foldOne(t, event(1, 0, initialize), unknown, known)
	token, _ := state.Token(mint)
	require.NotNil(t, token.Supply)
	require.Equal(t, "50", *token.Supply)
}

func TestWrappedSOLHasNoSupply(t *testing.T) {
	message := read(1, 0)
	message.Enrichment.Mint = registrytest.Mint(0)
	token, member := fold([]registrytest.Message{message})[registry.WrappedSOL()].Token(registry.WrappedSOL())
	require.True(t, member)
	require.Nil(t, token.Supply)
}

func TestMembership(t *testing.T) {
	one := func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{MintAuthority: registrytest.Mint(7)}}
	}
	noMoreMinting := func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_SetAuthority{SetAuthority: &eventspb.SetAuthority{AuthorityType: registry.AuthorityMintTokens}}
	}
	standard := func(n uint32) func(*eventspb.TokenEvent) {
		return func(e *eventspb.TokenEvent) {
			e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
				MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, TokenStandard: &n,
			}}
		}
	}
	closed := func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
	}
	sighting := func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_Sighting{Sighting: &eventspb.Sighting{Decimals: 6}}
	}
	for _, c := range []struct {
		name     string
		messages []registrytest.Message
		want     bool
	}{
		{"initialised", []registrytest.Message{event(1, 0, initialize)}, true},
		{"only minted", []registrytest.Message{event(1, 0, mintTo(1))}, false},
		{"sighted", []registrytest.Message{event(1, 0, sighting)}, true},
		{"read", []registrytest.Message{read(1, 1)}, true},
		{"one indivisible unit, more can be minted", []registrytest.Message{event(1, 0, one), event(1, 1, mintTo(1))}, true},
		{"one indivisible unit for ever", []registrytest.Message{event(1, 0, one), event(1, 1, mintTo(1)), event(1, 2, noMoreMinting)}, false},
		{"two indivisible units for ever", []registrytest.Message{event(1, 0, one), event(1, 1, mintTo(2)), event(1, 2, noMoreMinting)}, true},
		{"standard non-fungible", []registrytest.Message{event(1, 0, initialize), event(1, 1, standard(0))}, false},
		{"standard fungible asset", []registrytest.Message{event(1, 0, initialize), event(1, 1, standard(1))}, true},
		{"standard programmable", []registrytest.Message{event(1, 0, initialize), event(1, 1, standard(4))}, false},
		{"closed", []registrytest.Message{event(1, 0, initialize), event(2, 1, closed)}, false},
		{"closed and created again", []registrytest.Message{event(1, 0, initialize), event(2, 1, closed), event(3, 0, initialize)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			mint, state := foldOne(t, c.messages...)
			_, member := state.Token(mint)
			require.Equal(t, c.want, member)
		})
	}
}

func TestMetadataPrecedence(t *testing.T) {
	metaplex := func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX,
			Name:            []byte("Meta\x00\x00"), Uri: []byte("https://m"),
		}}
	}
	extension := func(e *eventspb.TokenEvent) {
		e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{
			MetadataProgram: eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022,
			Name:            []byte("Ext"), Symbol: []byte("EXT"), Uri: []byte("https://e"),
		}}
	}
	offchain := registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: 9, Fact: &eventspb.Enrichment_Offchain{
		Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://m"), Name: "Doc", Symbol: "DOC", Image: "https://logo"},
	}}}
	logo := registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: 9, Fact: &eventspb.Enrichment_Logo{
		Logo: &eventspb.Logo{Url: "https://logo", Status: eventspb.LogoStatus_LOGO_STATUS_OK},
	}}}
	pointer := registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: 2, Fact: &eventspb.Enrichment_MintAccount{
		MintAccount: &eventspb.MintAccount{ProgramId: decodeKey(t, schemas.ProgramToken2022), MetadataPointer: registrytest.Mint(1)},
	}}}
	show := func(messages ...registrytest.Message) registry.Token {
		mint, state := foldOne(t, messages...)
		token, _ := state.Token(mint)
		return token
	}

	token := show(event(1, 0, metaplex))
	require.Equal(t, "Meta", token.Name, "padding goes")
	require.Equal(t, registry.LogoMissing, token.LogoStatus)

	token = show(event(1, 0, metaplex), event(1, 1, extension))
	require.Empty(t, token.Symbol, "without a pointer to the mint the extension does not count")

	token = show(event(1, 0, metaplex), event(1, 1, extension), pointer)
	require.Equal(t, []string{"Meta", "EXT", "https://m"}, []string{token.Name, token.Symbol, *token.MetaplexURI})

	token = show(event(1, 0, metaplex), offchain)
	require.Equal(t, []string{"Meta", "DOC"}, []string{token.Name, token.Symbol}, "off-chain fills only what is empty")
	require.Equal(t, registry.LogoUnchecked, token.LogoStatus)

	token = show(event(1, 0, metaplex), offchain, logo)
	require.Equal(t, registry.LogoOK, token.LogoStatus)

	override := func(version uint64, decision *eventspb.LogoOverride) registrytest.Message {
		decision.Version = version
		return registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Fact: &eventspb.Enrichment_LogoOverride{LogoOverride: decision}}}
	}
	own := override(1, &eventspb.LogoOverride{Url: "https://ours"})
	token = show(event(1, 0, metaplex), offchain, logo, own)
	require.Equal(t, []string{"https://ours", registry.LogoUnchecked}, []string{*token.LogoURL, token.LogoStatus}, "an operator's URL is fetched like any other")
	token = show(event(1, 0, metaplex), offchain, logo, own, override(2, &eventspb.LogoOverride{None: true}))
	require.Nil(t, token.LogoURL)
	require.Equal(t, registry.LogoMissing, token.LogoStatus)
	purged := override(3, &eventspb.LogoOverride{Purge: 3})
	token = show(event(1, 0, metaplex), offchain, logo, own, purged)
	require.Equal(t, []string{"https://logo", registry.LogoUnchecked}, []string{*token.LogoURL, token.LogoStatus}, "what was fetched before a purge counts no more")
	again := registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: 9, Fact: &eventspb.Enrichment_Logo{
		Logo: &eventspb.Logo{Url: "https://logo", Status: eventspb.LogoStatus_LOGO_STATUS_BROKEN, Check: 2, Purge: 3},
	}}}
	first := registrytest.Message{Enrichment: &eventspb.Enrichment{Mint: registrytest.Mint(1), Slot: 9, Fact: &eventspb.Enrichment_Logo{
		Logo: &eventspb.Logo{Url: "https://logo", Status: eventspb.LogoStatus_LOGO_STATUS_OK, Check: 1},
	}}}
	token = show(event(1, 0, metaplex), offchain, again, first, purged)
	require.Equal(t, registry.LogoBroken, token.LogoStatus, "of two checks in one slot the later holds, whatever it says")

	token = show(event(1, 1, extension), pointer, offchain)
	require.Nil(t, token.LogoURL, "what another URI said does not count")
}

func decodeKey(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base58.Decode(text)
	require.NoError(t, err)
	return raw
}

func TestAReadPrunesTheDeltasItCovers(t *testing.T) {
	messages := []registrytest.Message{event(1, 0, initialize), event(5, 1, mintTo(100)), event(7, 0, mintTo(1)), read(5, 1000)}
	for range 2 { // whichever comes first
		slices.Reverse(messages)
		_, state := foldOne(t, messages...)
		deltas := 0
		for _, fact := range state.Facts() {
			if fact.Register == registry.RegisterSupplyDelta {
				deltas++
			}
		}
		require.Equal(t, 1, deltas, "only the one behind the read")
	}
}

// TestASightingIsTheLastThingSeenToo: a balance is no event of the mint, so last_seen_at had
// nothing to say where first_seen_at had.
func TestASightingIsTheLastThingSeenToo(t *testing.T) {
	program := registrytest.Mint(0)
	at := func(slot uint64) *eventspb.TokenEvent {
		return &eventspb.TokenEvent{
			Mint: registrytest.Mint(1), ProgramId: program, Position: &eventspb.Position{Slot: slot}, Signature: make([]byte, 64), BlockTime: int64(1_700_000_000 + slot),
		}
	}
	sighting := at(5)
	sighting.Payload = &eventspb.TokenEvent_Sighting{Sighting: &eventspb.Sighting{Decimals: 6}}
	minted := at(3)
	minted.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1}}
	var state registry.State
	for _, f := range registry.FactsOfEvent(sighting) {
		state.Apply(f)
	}
	token, member := state.Token(pubkey.Key{1})
	require.True(t, member)
	require.EqualValues(t, 1_700_000_005_000, *token.FirstSeenAt)
	require.Equal(t, token.FirstSeenAt, token.LastSeenAt)
	for _, f := range registry.FactsOfEvent(minted) {
		state.Apply(f)
	}
	token, _ = state.Token(pubkey.Key{1})
	require.EqualValues(t, 1_700_000_003_000, *token.FirstSeenAt)
	require.EqualValues(t, 1_700_000_003_000, *token.LastSeenAt)
}
