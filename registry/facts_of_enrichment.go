package registry

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Offchain is the value of RegisterOffchain: the document behind a token's metadata URI. It counts
// only while URI is the token's current one. The JSON field names are read by ClickHouse too.
type Offchain struct {
	URI         string            `json:"uri"`
	Name        string            `json:"name,omitempty"`
	Symbol      string            `json:"symbol,omitempty"`
	Description string            `json:"description,omitempty"`
	Image       string            `json:"image,omitempty"`
	ExternalURL string            `json:"external_url,omitempty"`
	Extensions  map[string]string `json:"extensions,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
}

// Logo is the value of RegisterLogo: the result of the last check of a logo. It counts only while
// URL is the token's current logo, and not if Purge is below LogoOverride.Purge: then the operator
// has purged the logo since the check. The details of a check (hash, size, schedule) stay in the
// event, because every API node holds all registers in memory.
type Logo struct {
	URL    string `json:"url"`
	Status string `json:"status"`
	Purge  uint64 `json:"purge,omitempty"`
}

// LogoOverride is the value of RegisterLogoOverride: an operator's decision. URL replaces the
// token's logo; None removes it. Purge is the version of the last decision to purge.
type LogoOverride struct {
	URL   string `json:"url,omitempty"`
	None  bool   `json:"none,omitempty"`
	Purge uint64 `json:"purge,omitempty"`
}

// Apply returns the logo URL after the decision. own is the token's own logo URL.
func (o LogoOverride) Apply(own string) string {
	switch {
	case o.None:
		return ""
	case o.URL != "":
		return o.URL
	}
	return own
}

// Values of Token.LogoStatus.
const (
	LogoOK        = "ok"
	LogoUnchecked = "unchecked"
	LogoBroken    = "broken"
	LogoMissing   = "missing"
)

// FactsOfEnrichment translates an enrichment into facts. What was read at a slot is positioned
// after every instruction of that slot. An account from a stream is positioned after the
// transaction that wrote it. A logo is positioned by the number of its check, a list's entry or a
// decision at slot 0 by its version. Imported facts keep their positions. A message
// without a 32-byte mint, or with a kind of fact that has no register (NotAMint) or that this
// binary does not know, gives none.
func FactsOfEnrichment(enrichment *eventspb.Enrichment) []Fact {
	if len(enrichment.GetMint()) != pubkey.Size {
		return nil
	}
	l := &factList{mint: pubkey.Key(enrichment.GetMint()), position: schemas.EndOfSlot(enrichment.GetSlot())}
	if enrichment.Order != nil {
		l.position.Order = enrichment.GetOrder()
	}
	switch fact := enrichment.GetFact().(type) {
	case *eventspb.Enrichment_MintAccount:
		l.mintAccount(fact.MintAccount)
		l.seen(enrichment.GetBlockTime())
	case *eventspb.Enrichment_MetaplexAccount:
		l.metadata(fact.MetaplexAccount.GetMetadata())
		l.seen(enrichment.GetBlockTime())
	case *eventspb.Enrichment_Offchain:
		l.offchain(fact.Offchain)
	case *eventspb.Enrichment_Logo:
		l.logo(fact.Logo)
	case *eventspb.Enrichment_TokenListEntry:
		l.tokenList(fact.TokenListEntry)
	case *eventspb.Enrichment_Facts:
		l.imported(fact.Facts)
	case *eventspb.Enrichment_LogoOverride:
		l.logoOverride(fact.LogoOverride)
	case *eventspb.Enrichment_Retraction:
		l.retraction(fact.Retraction)
	}
	return l.facts
}

// mintAccount sets what a read of the account shows. It does not set the items of RegisterClosed: a
// read does not show when the mint was closed or initialised.
func (l *factList) mintAccount(account *eventspb.MintAccount) {
	l.set(RegisterProgram, keyText(account.GetProgramId()))
	l.set(RegisterDecimals, strconv.FormatUint(uint64(account.GetDecimals()), 10))
	l.set(RegisterSupply, strconv.FormatUint(account.GetSupply(), 10))
	l.setKey(RegisterMintAuthority, account.GetMintAuthority())
	l.setKey(RegisterFreezeAuthority, account.GetFreezeAuthority())
	l.set(RegisterClosed, "false")
	if keyText(account.GetProgramId()) != schemas.ProgramToken2022 {
		return
	}
	for _, extension := range account.GetExtensions() {
		l.extension(extension, true)
	}
	l.setKey(RegisterMetadataPointer, account.GetMetadataPointer())
	if account.GetTokenMetadata() != nil {
		l.set(RegisterToken2022Field, "") // the account states all fields: others are gone
		l.metadata(account.GetTokenMetadata())
	}
}

func (l *factList) offchain(document *eventspb.OffchainMetadata) {
	value, err := json.Marshal(Offchain{
		URI:         Text(document.GetUri()),
		Name:        Text([]byte(document.GetName())),
		Symbol:      Text([]byte(document.GetSymbol())),
		Description: Text([]byte(document.GetDescription())),
		Image:       Text([]byte(document.GetImage())),
		ExternalURL: Text([]byte(document.GetExternalUrl())),
		Extensions:  document.GetExtensions(),
		Tags:        document.GetTags(),
	})
	if err != nil {
		return // strings always encode
	}
	l.set(RegisterOffchain, string(value))
}

func (l *factList) logo(logo *eventspb.Logo) {
	status := LogoBroken
	if logo.GetStatus() == eventspb.LogoStatus_LOGO_STATUS_OK {
		status = LogoOK
	}
	value, err := json.Marshal(Logo{URL: logo.GetUrl(), Status: status, Purge: logo.GetPurge()})
	if err != nil {
		return // strings always encode
	}
	if logo.GetCheck() > 0 {
		l.position.Order = logo.GetCheck()
	}
	l.set(RegisterLogo, string(value))
}

func (l *factList) logoOverride(override *eventspb.LogoOverride) {
	value, err := json.Marshal(LogoOverride{URL: override.GetUrl(), None: override.GetNone(), Purge: override.GetPurge()})
	if err != nil {
		return // strings always encode
	}
	l.position = schemas.Position{Order: override.GetVersion()}
	l.set(RegisterLogoOverride, string(value))
}

// ListEntry is the value of RegisterTokenList: what one token list states about the mint. The JSON
// field names are read by ClickHouse too.
type ListEntry struct {
	Name       string            `json:"name,omitempty"`
	Symbol     string            `json:"symbol,omitempty"`
	Decimals   *uint32           `json:"decimals,omitempty"`
	LogoURI    string            `json:"logo_uri,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	Extensions map[string]string `json:"extensions,omitempty"`
	// SHA256 is the hash of the list's file, in hexadecimal. Signer is in base58 and Signature in
	// base64; both are empty if the list is not signed.
	SHA256    string `json:"sha256,omitempty"`
	Signer    string `json:"signer,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Removed: this version of the list no longer holds the token.
	Removed bool `json:"removed,omitempty"`
}

func (l *factList) tokenList(entry *eventspb.TokenListEntry) {
	value, err := json.Marshal(ListEntry{
		Name:       Text([]byte(entry.GetName())),
		Symbol:     Text([]byte(entry.GetSymbol())),
		Decimals:   entry.Decimals,
		LogoURI:    Text([]byte(entry.GetLogoUri())),
		Tags:       entry.GetTags(),
		Extensions: entry.GetExtensions(),
		SHA256:     hex.EncodeToString(entry.GetListSha256()),
		Signer:     keyText(entry.GetSigner()),
		Signature:  base64.StdEncoding.EncodeToString(entry.GetSignature()),
		Removed:    entry.GetRemoved(),
	})
	if err != nil {
		return // strings and numbers always encode
	}
	l.position = schemas.Position{Order: entry.GetVersion()}
	l.setItem(RegisterTokenList, entry.GetList(), string(value))
}

// imported takes facts as they are. It keeps registers that this binary does not know, for a newer
// one.
func (l *factList) imported(facts *eventspb.Facts) {
	for _, fact := range facts.GetFacts() {
		if fact.GetRegister() == 0 || fact.GetRegister() > math.MaxUint8 {
			continue
		}
		l.position = schemas.Position{Slot: fact.GetPositionSlot(), Order: fact.GetPositionOrder()}
		l.setItem(Register(fact.GetRegister()), string(fact.GetItem()), string(fact.GetValue()))
	}
}

// ImportedFact returns the message that carries a fact in eventspb.Facts. FactsOfEnrichment turns
// it into the same fact again.
func ImportedFact(fact Fact) *eventspb.Fact {
	return &eventspb.Fact{
		Register: uint32(fact.Register), Item: []byte(fact.Item),
		PositionSlot: fact.Position.Slot, PositionOrder: fact.Position.Order, Value: []byte(fact.Value),
	}
}
