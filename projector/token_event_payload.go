package projector

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// payload is the part of a token_events row that depends on the kind of the event. A nil pointer
// means that the instruction does not state the value, a pointer to an empty text that it states
// none. A text that is no pointer is empty if it is not stated.
type payload struct {
	decimals             *uint8
	amount               *uint64
	tokenAccount         string
	authority            string
	mintAuthority        *string
	freezeAuthority      *string
	authorityType        string
	newAuthority         *string
	name                 *string
	symbol               *string
	uri                  *string
	updateAuthority      *string
	sellerFeeBasisPoints *uint16
	tokenStandard        *uint8
	extension            string
	details              details
}

func payloadOf(event *eventspb.TokenEvent) payload {
	p := payload{details: details{}}
	switch e := event.GetPayload().(type) {
	case *eventspb.TokenEvent_InitializeMint:
		p.decimals = byteOf(&e.InitializeMint.Decimals)
		p.mintAuthority = textOfKey(e.InitializeMint.GetMintAuthority())
		p.freezeAuthority = textOfKey(e.InitializeMint.GetFreezeAuthority())
	case *eventspb.TokenEvent_MintTo:
		p.amountChange(e.MintTo)
	case *eventspb.TokenEvent_Burn:
		p.amountChange(e.Burn)
	case *eventspb.TokenEvent_SetAuthority:
		p.authorityType = e.SetAuthority.GetAuthorityType()
		p.authority = keyText(e.SetAuthority.GetOldAuthority())
		p.newAuthority = textOfKey(e.SetAuthority.GetNewAuthority())
	case *eventspb.TokenEvent_MetadataSet:
		p.metadata(e.MetadataSet)
	case *eventspb.TokenEvent_ExtensionSet:
		p.extension = e.ExtensionSet.GetExtension()
		for _, attribute := range e.ExtensionSet.GetAttributes() {
			p.details[attribute.GetName()] = attribute.GetValue()
		}
	case *eventspb.TokenEvent_CloseMint:
		p.authority = keyText(e.CloseMint.GetAuthority())
		p.details["destination"] = keyText(e.CloseMint.GetDestination())
	case *eventspb.TokenEvent_FreezeAccount:
		p.freeze(e.FreezeAccount)
	case *eventspb.TokenEvent_ThawAccount:
		p.freeze(e.ThawAccount)
	case *eventspb.TokenEvent_WithdrawExcessLamports:
		p.authority = keyText(e.WithdrawExcessLamports.GetAuthority())
		p.details["source"] = keyText(e.WithdrawExcessLamports.GetSource())
		p.details["destination"] = keyText(e.WithdrawExcessLamports.GetDestination())
	case *eventspb.TokenEvent_Launch:
		p.details["launchpad"], p.details["creator"] = e.Launch.GetLaunchpad(), keyText(e.Launch.GetCreator())
		p.details["curve"], p.details["config"] = keyText(e.Launch.GetCurve()), keyText(e.Launch.GetConfig())
	case *eventspb.TokenEvent_Graduate:
		p.details["launchpad"], p.details["pool"] = e.Graduate.GetLaunchpad(), keyText(e.Graduate.GetPool())
	case *eventspb.TokenEvent_Raw:
		p.raw(e.Raw)
	}
	return p
}

func (p *payload) amountChange(change *eventspb.AmountChange) {
	p.amount = &change.Amount
	p.tokenAccount = keyText(change.GetTokenAccount())
	p.authority = keyText(change.GetAuthority())
	p.decimals = byteOf(change.Decimals)
}

func (p *payload) freeze(freeze *eventspb.AccountFreeze) {
	p.tokenAccount = keyText(freeze.GetTokenAccount())
	p.authority = keyText(freeze.GetAuthority())
}

func (p *payload) metadata(set *eventspb.MetadataSet) {
	p.name, p.symbol, p.uri = textOf(set.Name), textOf(set.Symbol), textOf(set.Uri)
	if set.UpdateAuthority != nil {
		p.updateAuthority = textOfKey(set.UpdateAuthority)
	}
	if fee := set.SellerFeeBasisPoints; fee != nil && *fee <= math.MaxUint16 {
		fee16 := uint16(*fee)
		p.sellerFeeBasisPoints = &fee16
	}
	p.tokenStandard = byteOf(set.TokenStandard)
	p.details["metadata_account"] = keyText(set.GetMetadataAccount())
	if set.GetCreates() {
		p.details["creates"] = "true"
	}
	if set.IsMutable != nil {
		p.details["is_mutable"] = strconv.FormatBool(set.GetIsMutable())
	}
	if set.PrimarySaleHappened != nil {
		p.details["primary_sale_happened"] = strconv.FormatBool(set.GetPrimarySaleHappened())
	}
	if set.Collection != nil {
		p.details["collection"] = keyText(set.Collection)
	}
	if set.CollectionVerified != nil {
		p.details["collection_verified"] = strconv.FormatBool(set.GetCollectionVerified())
	}
	switch {
	case set.GetSetsCreators():
		p.details["creators"] = creatorsJSON(set.GetCreators())
	case len(set.GetCreators()) > 0: // only flags of some creators: the list stays
		p.details["creator_flags"] = creatorFlagsJSON(set.GetCreators())
	}
	for _, field := range set.GetAdditionalFields() {
		if field.GetRemoved() {
			p.details["removed_field."+string(field.GetKey())] = ""
		} else {
			p.details["field."+string(field.GetKey())] = string(field.GetValue())
		}
	}
}

func creatorsJSON(creators []*eventspb.Creator) string {
	type creator struct {
		Address  string `json:"address"`
		Verified bool   `json:"verified"`
		Share    uint32 `json:"share"`
	}
	list := make([]creator, 0, len(creators))
	for _, c := range creators {
		list = append(list, creator{keyText(c.GetAddress()), c.GetVerified(), c.GetShare()})
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return "" // strings and numbers always encode
	}
	return string(encoded)
}

// creatorFlagsJSON leaves out the shares, which such an instruction does not state.
func creatorFlagsJSON(creators []*eventspb.Creator) string {
	type flag struct {
		Address  string `json:"address"`
		Verified bool   `json:"verified"`
	}
	list := make([]flag, 0, len(creators))
	for _, c := range creators {
		list = append(list, flag{keyText(c.GetAddress()), c.GetVerified()})
	}
	encoded, err := json.Marshal(list)
	if err != nil {
		return "" // strings always encode
	}
	return string(encoded)
}

func (p *payload) raw(raw *eventspb.RawInstruction) {
	p.details["reason"] = raw.GetReason()
	p.details["data"] = hex.EncodeToString(raw.GetData())
	for i, account := range raw.GetAccounts() {
		p.details["account."+strconv.Itoa(i)] = keyText(account)
	}
}

// textOf tells "not stated" (nil) from "stated as empty".
func textOf(raw []byte) *string {
	if raw == nil {
		return nil
	}
	text := string(raw)
	return &text
}

func textOfKey(key []byte) *string {
	text := keyText(key)
	return &text
}

func byteOf(n *uint32) *uint8 {
	if n == nil || *n > math.MaxUint8 {
		return nil
	}
	b := uint8(*n)
	return &b
}
