// Package registrytest generates token events and enrichments for property tests of the fold.
//
// In: a rapid source of choices. Out: messages about few mints at few positions, so that
// collisions, ties and repeats are common.
// Guarantees: all events of one generated list have different positions, as on the chain itself.
// Only the facts of an import may be of another instruction at the same position.
package registrytest

import (
	"crypto/sha256"
	"fmt"

	"pgregory.net/rapid"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Message is a token event or an enrichment.
type Message struct {
	Event      *eventspb.TokenEvent
	Enrichment *eventspb.Enrichment
}

// Facts returns the message's facts.
func (m Message) Facts() []registry.Fact {
	if m.Event != nil {
		return registry.FactsOfEvent(m.Event)
	}
	return registry.FactsOfEnrichment(m.Enrichment)
}

// Messages generates up to limit messages with different places, see place.
func Messages(limit int) *rapid.Generator[[]Message] {
	return rapid.Custom(func(t *rapid.T) []Message {
		return rapid.SliceOfNDistinct(message(), 1, limit, place).Draw(t, "messages")
	})
}

// place returns what must differ between messages. For an event it is the position, because a
// position holds one instruction. For an enrichment it is the whole message, because two nodes may
// read a slot differently.
func place(m Message) string {
	if m.Event == nil {
		return fmt.Sprint("read ", m.Enrichment.String())
	}
	p := m.Event.GetPosition()
	return fmt.Sprint("event ", p.GetSlot(), p.GetTransactionIndex(), p.GetInstructionIndex(), p.GetInnerInstructionIndex())
}

func message() *rapid.Generator[Message] {
	return rapid.Custom(func(t *rapid.T) Message {
		if rapid.Bool().Draw(t, "enrichment") {
			return Message{Enrichment: enrichment(t)}
		}
		return Message{Event: event(t)}
	})
}

// key returns a made-up key of 32 bytes. It differs for each prefix, and for each n below 256.
func key(prefix byte, n int) []byte {
	k := make([]byte, 32)
	k[0], k[31] = prefix, byte(n+1)
	return k
}

// Mint returns the n-th mint of the generator; number 0 is wrapped SOL.
func Mint(n int) []byte {
	if n == 0 {
		return decode(schemas.MintWrappedSOL)
	}
	return key('m', n)
}

func decode(text string) []byte {
	raw, err := base58.Decode(text)
	if err != nil {
		panic(err) // all texts are constants of package schemas
	}
	return raw
}

func mint(t *rapid.T) []byte { return Mint(rapid.IntRange(0, 3).Draw(t, "mint")) }

func program(t *rapid.T) []byte {
	return decode(rapid.SampledFrom([]string{schemas.ProgramToken, schemas.ProgramToken2022}).Draw(t, "program"))
}

// authority draws a key, or an empty slice for no authority.
func authority(t *rapid.T) []byte {
	if rapid.Bool().Draw(t, "no authority") {
		return []byte{}
	}
	return key('a', rapid.IntRange(0, 2).Draw(t, "authority"))
}

func text(t *rapid.T, label string) []byte {
	return rapid.SampledFrom([][]byte{
		nil, {}, []byte("Bonk"), []byte("BONK\x00\x00\x00"), []byte("  padded "), []byte("bad\xff\xfeutf8"), []byte("価値 🚀"),
		[]byte(`quo"te\`), []byte("<&>\u2028"), []byte("'; DROP TABLE x; --"), {0, 0, 0}, []byte("a\x00b"),
		[]byte("\x1b[2Jtwo\nlines\u0085"), []byte("\u202eedirrevo\u2069 \x01"),
	}).Draw(t, label)
}

var uris = []string{"https://example.org/1.json", "ipfs://bafy/2", "not a uri", ""}

func uri(t *rapid.T) []byte { return []byte(rapid.SampledFrom(uris).Draw(t, "uri")) }

func amount(t *rapid.T) uint64 {
	return rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "amount")
}

func decimals(t *rapid.T) uint32 {
	return rapid.SampledFrom([]uint32{0, 6, 9, 255}).Draw(t, "decimals")
}

// event draws a token event. Its signature depends only on slot and transaction, as on the chain.
func event(t *rapid.T) *eventspb.TokenEvent {
	transaction := rapid.Uint32Range(0, 3).Draw(t, "transaction")
	slot := rapid.Uint64Range(1, 5).Draw(t, "slot")
	inner := rapid.Uint32Range(0, 2).Draw(t, "inner")
	e := &eventspb.TokenEvent{
		Position: &eventspb.Position{
			Slot:             slot,
			TransactionIndex: &transaction,
			InstructionIndex: rapid.Uint32Range(0, 2).Draw(t, "outer"),
		},
		BlockTime: 1_700_000_000 + int64(slot),
		Signature: append(key('s', int(slot*8)+int(transaction)), make([]byte, 32)...),
		ProgramId: program(t),
		Mint:      mint(t),
	}
	e.Signature[1], e.Signature[2] = byte(slot), byte(transaction)
	if inner > 0 {
		e.Position.InnerInstructionIndex = &inner
	}
	setPayload(t, e)
	return e
}

func setPayload(t *rapid.T, e *eventspb.TokenEvent) {
	switch rapid.IntRange(0, 10).Draw(t, "kind") {
	case 0:
		e.Payload = &eventspb.TokenEvent_InitializeMint{InitializeMint: &eventspb.InitializeMint{
			Decimals: decimals(t), MintAuthority: authority(t), FreezeAuthority: authority(t),
		}}
	case 1, 2:
		e.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: amount(t)}}
	case 3:
		e.Payload = &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: amount(t)}}
	case 4:
		kind := rapid.SampledFrom([]string{registry.AuthorityMintTokens, registry.AuthorityFreezeAccount, "close_mint", "metadata_pointer", "account_owner"}).Draw(t, "type")
		e.Payload = &eventspb.TokenEvent_SetAuthority{SetAuthority: &eventspb.SetAuthority{AuthorityType: kind, NewAuthority: authority(t)}}
	case 5:
		e.Payload = &eventspb.TokenEvent_MetadataSet{MetadataSet: metadata(t)}
	case 6:
		set := pointer(t, e.GetMint())
		if rapid.Bool().Draw(t, "scaled") {
			set = scaled(t)
		}
		e.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: set}
	case 7:
		e.Payload = &eventspb.TokenEvent_CloseMint{CloseMint: &eventspb.CloseMint{}}
	case 8:
		e.Payload = &eventspb.TokenEvent_Launch{Launch: &eventspb.Launch{Launchpad: rapid.SampledFrom([]string{"pump", "meteora_dbc"}).Draw(t, "launchpad"), Creator: authority(t)}}
	case 9:
		e.Payload = &eventspb.TokenEvent_Graduate{Graduate: &eventspb.Graduate{Launchpad: "pump"}}
	default:
		e.Payload = &eventspb.TokenEvent_Sighting{Sighting: &eventspb.Sighting{Decimals: decimals(t)}}
	}
}

func metadata(t *rapid.T) *eventspb.MetadataSet {
	set := &eventspb.MetadataSet{
		MetadataProgram: rapid.SampledFrom([]eventspb.MetadataProgram{
			eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX, eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022,
		}).Draw(t, "metadata program"),
		Name: text(t, "name"), Symbol: text(t, "symbol"), Uri: uri(t),
	}
	if rapid.Bool().Draw(t, "with authority") {
		set.UpdateAuthority = authority(t)
	}
	if set.GetMetadataProgram() == eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022 {
		set.Creates = rapid.Bool().Draw(t, "creates")
		set.AdditionalFields = fields(t)
	}
	if rapid.Bool().Draw(t, "with numbers") {
		fee, standard := rapid.Uint32Range(0, 10_000).Draw(t, "fee"), rapid.Uint32Range(0, 6).Draw(t, "standard")
		set.SellerFeeBasisPoints, set.TokenStandard = &fee, &standard
	}
	return set
}

// fields draws additional fields with few keys. One key is empty, one is also in off-chain
// documents, and one has a control character.
func fields(t *rapid.T) (list []*eventspb.AdditionalField) {
	for range rapid.IntRange(0, 2).Draw(t, "fields") {
		list = append(list, &eventspb.AdditionalField{
			Key: []byte(rapid.SampledFrom([]string{"website", "", "key\xff", "web\x07site"}).Draw(t, "key")), Value: text(t, "value"),
			Removed: rapid.Bool().Draw(t, "removed"),
		})
	}
	return list
}

// pointer draws a metadata pointer, to the mint itself or to no account.
func pointer(t *rapid.T, mint []byte) *eventspb.ExtensionSet {
	address := ""
	if rapid.Bool().Draw(t, "to itself") {
		address = base58.Encode(mint)
	}
	return &eventspb.ExtensionSet{
		Extension:  registry.ExtensionMetadataPointer,
		Attributes: []*eventspb.Attribute{{Name: "authority"}, {Name: registry.AttributeMetadataAddress, Value: address}},
	}
}

// scaled draws what is stated about the extension scaled_ui_amount. The instruction that begins it,
// and a read of the account, state the present multiplier too. The instruction that changes it
// states only the new one.
func scaled(t *rapid.T) *eventspb.ExtensionSet {
	multiplier := func(label string) string {
		return rapid.SampledFrom([]string{"1", "1.5", "0.1", "1e-07", "3.0000000000000004", "1.7976931348623157e+308", "0", "-1", "NaN", "+Inf", ""}).Draw(t, label)
	}
	set := &eventspb.ExtensionSet{Extension: "scaled_ui_amount"}
	add := func(name, value string) {
		set.Attributes = append(set.Attributes, &eventspb.Attribute{Name: name, Value: value})
	}
	if rapid.Bool().Draw(t, "states the present one") {
		add("multiplier", multiplier("multiplier"))
	}
	add("new_multiplier", multiplier("new multiplier"))
	add("new_multiplier_effective_timestamp", rapid.SampledFrom([]string{
		"0", "-1", "1", "1800000000", "10413791999", "10413792000", "9223372036854775807", "-9223372036854775808", "x", "",
	}).Draw(t, "from"))
	return set
}

var images = []string{"https://example.org/a.png", "https://example.org/b.png", "b it.png", ""}

func enrichment(t *rapid.T) *eventspb.Enrichment {
	e := &eventspb.Enrichment{Mint: mint(t), Slot: rapid.Uint64Range(1, 5).Draw(t, "read slot")}
	switch rapid.IntRange(0, 7).Draw(t, "fact") {
	case 0:
		account := &eventspb.MintAccount{
			ProgramId: program(t), Decimals: decimals(t), Supply: amount(t), MintAuthority: authority(t), FreezeAuthority: authority(t),
		}
		if rapid.IntRange(0, 4).Draw(t, "edition") == 0 {
			account.Decimals, account.Supply = 0, rapid.Uint64Range(0, 2).Draw(t, "editions")
			// IsEdition does not try bump 223.
			account.MintAuthority = Edition(e.GetMint(), rapid.SampledFrom([]byte{255, 254, 224, 223}).Draw(t, "bump"))
		}
		if rapid.Bool().Draw(t, "own metadata") {
			account.MetadataPointer = e.Mint
			account.TokenMetadata = metadata(t)
			account.TokenMetadata.MetadataProgram = eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022
			account.TokenMetadata.AdditionalFields = fields(t)
			account.Extensions = append(account.Extensions, pointer(t, e.GetMint()))
		}
		streamed(t, e)
		e.Fact = &eventspb.Enrichment_MintAccount{MintAccount: account}
	case 1:
		set := metadata(t)
		set.MetadataProgram = eventspb.MetadataProgram_METADATA_PROGRAM_METAPLEX
		e.Fact = &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: &eventspb.MetaplexAccount{Metadata: set}}
		streamed(t, e)
	case 2:
		e.Fact = &eventspb.Enrichment_Offchain{Offchain: offchain(t)}
	case 3:
		e.Fact = &eventspb.Enrichment_Logo{Logo: &eventspb.Logo{
			Url:    rapid.SampledFrom(images).Draw(t, "logo"),
			Status: rapid.SampledFrom([]eventspb.LogoStatus{eventspb.LogoStatus_LOGO_STATUS_OK, eventspb.LogoStatus_LOGO_STATUS_BROKEN}).Draw(t, "status"),
			Check:  rapid.Uint64Range(0, 3).Draw(t, "check"),
			Purge:  rapid.Uint64Range(0, 2).Draw(t, "purge known"),
		}}
	case 4:
		e.Slot = 0
		e.Fact = &eventspb.Enrichment_TokenListEntry{TokenListEntry: listEntry(t)}
	case 6:
		e.Slot = 0
		e.Fact = &eventspb.Enrichment_LogoOverride{LogoOverride: &eventspb.LogoOverride{
			Version: rapid.Uint64Range(0, 3).Draw(t, "version"), Url: rapid.SampledFrom(images).Draw(t, "own logo"),
			None: rapid.IntRange(0, 3).Draw(t, "none") == 0, Purge: rapid.Uint64Range(0, 2).Draw(t, "purge"),
		}}
	case 5:
		inner := event(t)
		inner.Mint = e.Mint
		facts := &eventspb.Facts{}
		for _, fact := range registry.FactsOfEvent(inner) {
			facts.Facts = append(facts.Facts, registry.ImportedFact(fact))
		}
		e.Fact = &eventspb.Enrichment_Facts{Facts: facts}
	default:
		e.Fact = &eventspb.Enrichment_NotAMint{NotAMint: &eventspb.NotAMint{Reason: "no account"}}
	}
	return e
}

// Edition returns the address of a mint's Metaplex edition account for a bump.
func Edition(mint []byte, bump byte) []byte {
	program := string(decode(schemas.ProgramMetaplex))
	hash := sha256.Sum256([]byte("metadata" + program + string(mint) + "edition" + string([]byte{bump}) + program + "ProgramDerivedAddress"))
	return hash[:]
}

// streamed turns some reads into accounts that a stream delivered after a transaction.
func streamed(t *rapid.T, e *eventspb.Enrichment) {
	if rapid.Bool().Draw(t, "streamed") {
		order := schemas.EndOfTransaction(e.GetSlot(), rapid.Uint32Range(0, 3).Draw(t, "transaction of the account")).Order
		e.Order = &order
		e.BlockTime = rapid.SampledFrom([]int64{0, 1_700_000_000 + int64(e.GetSlot())}).Draw(t, "time of the account's block")
	}
}

func offchain(t *rapid.T) *eventspb.OffchainMetadata {
	document := &eventspb.OffchainMetadata{
		Uri:         uri(t),
		Name:        registry.Text(text(t, "document name")),
		Symbol:      registry.Text(text(t, "document symbol")),
		Description: registry.Text(text(t, "description")),
		Image:       rapid.SampledFrom(images).Draw(t, "image"),
	}
	if rapid.Bool().Draw(t, "with links") {
		document.Extensions = map[string]string{"website": "https://example.org", "twitter": registry.Text(text(t, "twitter"))}
		document.Tags = tags(t, "document tag")
	}
	return document
}

// tags draws few tags. Some are reserved for lists, as written or in disguise.
func tags(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"meme", `a"b`, "stablecoin", "verified", " Veri-fied ✓", "VЕRIFIED", "STRICT", "unverified", "K", ""}), 0, 4).Draw(t, label)
}

func listEntry(t *rapid.T) *eventspb.TokenListEntry {
	entry := &eventspb.TokenListEntry{
		List:    rapid.SampledFrom([]string{"solana", "verified", "\xe2\x98\x83 list"}).Draw(t, "list"),
		Version: rapid.Uint64Range(0, 3).Draw(t, "version"),
		Name:    registry.Text(text(t, "list name")),
		Symbol:  registry.Text(text(t, "list symbol")),
		LogoUri: rapid.SampledFrom(images).Draw(t, "list logo"),
	}
	switch rapid.IntRange(0, 4).Draw(t, "form of the entry") {
	case 0:
		entry.ListSha256 = key('h', 0)
		return &eventspb.TokenListEntry{List: entry.GetList(), Version: entry.GetVersion(), ListSha256: entry.GetListSha256(), Removed: true}
	case 1:
		entry.ListSha256, entry.Signer, entry.Signature = key('h', 1), key('k', 1), append(key('s', 1), key('s', 2)...)
	}
	if rapid.Bool().Draw(t, "list with links") {
		decimals := decimals(t)
		entry.Decimals = &decimals
		entry.Extensions = map[string]string{"website": registry.Text(text(t, "list website")), "coingeckoId": "x"}
		entry.Tags = append(tags(t, "list tag"), registry.Text(text(t, "list text")))
	}
	return entry
}
