package registry

import (
	"encoding/hex"
	"math"
	"strconv"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// factList collects the facts of one event or enrichment.
type factList struct {
	mint     pubkey.Key
	position schemas.Position
	facts    []Fact
}

func (l *factList) set(register Register, value string) {
	l.setItem(register, "", value)
}

func (l *factList) setItem(register Register, item, value string) {
	l.facts = append(l.facts, Fact{Mint: l.mint, Register: register, Item: item, Position: l.position, Value: value})
}

func (l *factList) setKey(register Register, key []byte) {
	l.set(register, keyText(key))
}

// setText sets a register to a text of the chain. nil means that the instruction does not state it.
func (l *factList) setText(register Register, raw []byte) {
	if raw != nil {
		l.set(register, Text(raw))
	}
}

// keyText returns the key in base58. It is empty for no key, and for an all-zero key: that is how
// the chain stores an optional key that is absent.
func keyText(key []byte) string {
	if len(key) == 0 || string(key) == string(make([]byte, len(key))) {
		return ""
	}
	return base58.Encode(key)
}

// FactsOfEvent translates a token event into facts about its mint. An event without a 32-byte mint,
// without a position, or with a payload that this binary does not know gives none.
func FactsOfEvent(event *eventspb.TokenEvent) []Fact { return AppendFactsOfEvent(nil, event) }

// AppendFactsOfEvent appends the facts of an event to facts, see FactsOfEvent.
func AppendFactsOfEvent(facts []Fact, event *eventspb.TokenEvent) []Fact {
	if len(event.GetMint()) != pubkey.Size || event.GetPosition() == nil {
		return facts
	}
	l := &factList{
		mint:     pubkey.Key(event.GetMint()),
		position: schemas.PositionOf(event.GetPosition(), event.GetSignature()),
		facts:    facts,
	}
	switch payload := event.GetPayload().(type) {
	case *eventspb.TokenEvent_InitializeMint:
		l.initializeMint(event, payload.InitializeMint)
	case *eventspb.TokenEvent_MintTo:
		l.supplyDelta(event, payload.MintTo.GetAmount(), "")
	case *eventspb.TokenEvent_Burn:
		l.supplyDelta(event, payload.Burn.GetAmount(), "-")
	case *eventspb.TokenEvent_SetAuthority:
		l.setAuthority(payload.SetAuthority)
	case *eventspb.TokenEvent_MetadataSet:
		l.metadata(payload.MetadataSet)
	case *eventspb.TokenEvent_ExtensionSet:
		l.extension(payload.ExtensionSet, false)
		l.forget(event.GetInstruction())
	case *eventspb.TokenEvent_CloseMint:
		l.set(RegisterClosed, "true")
		l.setItem(RegisterClosed, ItemClosed, "")
	case *eventspb.TokenEvent_Launch:
		l.set(RegisterLaunchpad, Text([]byte(payload.Launch.GetLaunchpad())))
		l.setKey(RegisterCreator, payload.Launch.GetCreator())
	case *eventspb.TokenEvent_Graduate:
		if ms, ok := millis(event.GetBlockTime()); ok {
			l.set(RegisterGraduated, ms)
		}
	case *eventspb.TokenEvent_Sighting:
		if program := keyText(event.GetProgramId()); program != "" { // old events lack it
			l.set(RegisterProgram, program)
		}
		l.set(RegisterDecimals, strconv.FormatUint(uint64(payload.Sighting.GetDecimals()), 10))
		l.firstSeen(event.GetBlockTime())
		return l.facts // a balance does not change last seen
	case nil:
		return facts
	}
	l.seen(event.GetBlockTime())
	return l.facts
}

func (l *factList) initializeMint(event *eventspb.TokenEvent, payload *eventspb.InitializeMint) {
	l.set(RegisterProgram, keyText(event.GetProgramId()))
	l.set(RegisterDecimals, strconv.FormatUint(uint64(payload.GetDecimals()), 10))
	l.set(RegisterSupply, "0")
	l.setKey(RegisterMintAuthority, payload.GetMintAuthority())
	l.setKey(RegisterFreezeAuthority, payload.GetFreezeAuthority())
	l.set(RegisterClosed, "false")
	l.setItem(RegisterClosed, ItemInitialized, "")
}

func (l *factList) supplyDelta(event *eventspb.TokenEvent, amount uint64, sign string) {
	id := schemas.InstructionIDOf(event.GetPosition(), event.GetSignature())
	l.setItem(RegisterSupplyDelta, hex.EncodeToString(id[:]), sign+strconv.FormatUint(amount, 10))
}

func (l *factList) setAuthority(payload *eventspb.SetAuthority) {
	switch payload.GetAuthorityType() {
	case AuthorityMintTokens:
		l.setKey(RegisterMintAuthority, payload.GetNewAuthority())
	case AuthorityFreezeAccount:
		l.setKey(RegisterFreezeAuthority, payload.GetNewAuthority())
	default:
		if item, ok := authorityItems[payload.GetAuthorityType()]; ok {
			l.setItem(RegisterExtension, item, keyText(payload.GetNewAuthority()))
		}
	}
}

// authorityItems are the items of RegisterExtension that SetAuthority changes, by its authority
// type.
var authorityItems = map[string]string{
	"close_mint":                       "mint_close_authority.close_authority",
	"transfer_fee_config":              "transfer_fee_config.transfer_fee_config_authority",
	"withheld_withdraw":                "transfer_fee_config.withdraw_withheld_authority",
	"interest_rate":                    "interest_bearing_config.rate_authority",
	"permanent_delegate":               "permanent_delegate.delegate",
	"confidential_transfer_mint":       "confidential_transfer_mint.authority",
	"transfer_hook_program_id":         "transfer_hook.authority",
	"confidential_transfer_fee_config": "confidential_transfer_fee_config.authority",
	"metadata_pointer":                 "metadata_pointer.authority",
	"group_pointer":                    "group_pointer.authority",
	"group_member_pointer":             "group_member_pointer.authority",
	"scaled_ui_amount":                 "scaled_ui_amount.authority",
	"pause":                            "pausable.authority",
	"permissioned_burn":                "permissioned_burn.authority",
}

// Values of SetAuthority.authority_type that the registry reads; the others are kept in
// token_events only.
const (
	AuthorityMintTokens    = "mint_tokens"
	AuthorityFreezeAccount = "freeze_account"
)

// ExtensionTokenMetadata is the extension that holds a mint's own metadata.
const ExtensionTokenMetadata = "token_metadata"

// ExtensionMetadataPointer is the extension whose attribute AttributeMetadataAddress says where a
// mint's metadata is.
const (
	ExtensionMetadataPointer = "metadata_pointer"
	AttributeMetadataAddress = "metadata_address"
)

// metadata sets what the instruction or account states. A field that is nil is not stated. It
// ignores numbers that are greater than the program can store.
func (l *factList) metadata(payload *eventspb.MetadataSet) {
	if payload.GetMetadataProgram() == eventspb.MetadataProgram_METADATA_PROGRAM_TOKEN_2022 {
		l.token2022Metadata(payload)
		return
	}
	l.setText(RegisterMetaplexName, payload.Name)
	l.setText(RegisterMetaplexSymbol, payload.Symbol)
	l.setText(RegisterMetaplexURI, payload.Uri)
	if payload.UpdateAuthority != nil {
		l.setKey(RegisterMetaplexUpdateAuthority, payload.UpdateAuthority)
	}
	if payload.SellerFeeBasisPoints != nil && payload.GetSellerFeeBasisPoints() <= math.MaxUint16 {
		l.set(RegisterSellerFeeBasisPoints, strconv.FormatUint(uint64(payload.GetSellerFeeBasisPoints()), 10))
	}
	if payload.TokenStandard != nil && payload.GetTokenStandard() <= math.MaxUint8 {
		l.set(RegisterTokenStandard, strconv.FormatUint(uint64(payload.GetTokenStandard()), 10))
	}
}

// token2022Metadata also sets the extension itself: a mint with such metadata has the extension.
func (l *factList) token2022Metadata(payload *eventspb.MetadataSet) {
	l.setText(RegisterToken2022Name, payload.Name)
	l.setText(RegisterToken2022Symbol, payload.Symbol)
	l.setText(RegisterToken2022URI, payload.Uri)
	l.setItem(RegisterExtension, ExtensionTokenMetadata, "")
	if payload.UpdateAuthority != nil {
		l.setKey(RegisterToken2022UpdateAuthority, payload.UpdateAuthority)
		l.setItem(RegisterExtension, ExtensionTokenMetadata+".update_authority", keyText(payload.UpdateAuthority))
	}
	if payload.GetCreates() {
		l.setItem(RegisterExtension, ExtensionTokenMetadata+".mint", l.mint.String())
		l.set(RegisterToken2022Field, "") // a new mint has no fields: earlier ones are gone
	}
	if len(payload.GetAdditionalFields()) > 0 {
		// The number of fields is unknown until the account is read.
		l.setItem(RegisterExtension, ExtensionTokenMetadata+".additional_fields", "")
	}
	for _, field := range payload.GetAdditionalFields() {
		value := Text(field.GetValue())
		if field.GetRemoved() {
			value = ""
		}
		l.setItem(RegisterToken2022Field, fieldItem(field.GetKey()), value)
	}
}

// extension sets each attribute separately: an instruction that changes one leaves the others as
// they were, except those that forget handles. read is true if an account was read, and false for
// an instruction.
func (l *factList) extension(payload *eventspb.ExtensionSet, read bool) {
	l.setItem(RegisterExtension, payload.GetExtension(), "")
	for _, attribute := range payload.GetAttributes() {
		item := payload.GetExtension() + "." + attribute.GetName()
		if read || item != itemGroupSize {
			l.setItem(RegisterExtension, item, attribute.GetValue())
		}
		if payload.GetExtension() == ExtensionMetadataPointer && attribute.GetName() == AttributeMetadataAddress {
			l.set(RegisterMetadataPointer, attribute.GetValue())
		}
	}
}

// seen records that something happened to the mint in a block of this time, Unix seconds. 0 means
// that the time is unknown.
func (l *factList) seen(blockTime int64) {
	l.firstSeen(blockTime)
	l.lastSeen(blockTime)
}

func (l *factList) firstSeen(blockTime int64) {
	if ms, ok := millis(blockTime); ok {
		l.facts = append(l.facts, Fact{
			Mint: l.mint, Register: RegisterFirstSeen, Position: l.position.Reverse(), Value: ms,
		})
	}
}

func (l *factList) lastSeen(blockTime int64) {
	if ms, ok := millis(blockTime); ok {
		l.set(RegisterLastSeen, ms)
	}
}

// millis converts seconds to a decimal number of milliseconds. It returns false if the time is
// unknown (0), negative or too large.
func millis(seconds int64) (string, bool) {
	if seconds <= 0 || seconds > math.MaxInt64/1000 {
		return "", false
	}
	return strconv.FormatInt(seconds*1000, 10), true
}
