package registry

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mintlake/mintlake/schemas"
)

// Token is one row of the registry as users see it: the API's body and the columns of ClickHouse's
// tokens. A nil pointer is null. LogoURL, MetaplexURI and ExternalURL are URIs: a text that cannot
// be one is a fact and is not shown, and a logo named by such a text is missing.
type Token struct {
	Mint                 string            `json:"mint"`
	Symbol               string            `json:"symbol"`
	Name                 string            `json:"name"`
	Decimals             uint8             `json:"decimals"`
	LogoURL              *string           `json:"logo_url"`
	LogoStatus           string            `json:"logo_status"`
	IsToken22            bool              `json:"is_token22"`
	DailyVolumeUSD       *float64          `json:"daily_volume_usd"`
	FirstSeenAt          *int64            `json:"first_seen_at,omitempty"`
	LastSeenAt           *int64            `json:"last_seen_at,omitempty"`
	Supply               *string           `json:"supply"`
	MintAuthority        *string           `json:"mint_authority"`
	FreezeAuthority      *string           `json:"freeze_authority"`
	MetaplexURI          *string           `json:"metaplex_uri"`
	UpdateAuthority      *string           `json:"update_authority"`
	SellerFeeBasisPoints *int64            `json:"seller_fee_basis_points"`
	TokenStandard        *int64            `json:"token_standard"`
	Description          *string           `json:"description"`
	ExternalURL          *string           `json:"external_url"`
	Extensions           map[string]string `json:"extensions"`
	Tags                 []string          `json:"tags"`
	Launchpad            *string           `json:"launchpad"`
	Creator              *string           `json:"creator"`
	GraduatedAt          *int64            `json:"graduated_at"`
}

// Token shows the state of a mint. The second result says whether the mint is a member of the
// registry: its decimals and program are known, it is not closed, and it is not known to be
// non-fungible.
func (s *State) Token(mint string) (Token, bool) { return s.TokenIn(mint, &TokenBuffer{}) }

// TokenIn is like Token, but stores what the token's pointers point to in buf. The token is valid
// until the next call with the same buf.
func (s *State) TokenIn(mint string, buf *TokenBuffer) (Token, bool) {
	buf.texts, buf.numbers = buf.texts[:0], buf.numbers[:0]
	name, symbol, uri, updateAuthority := s.onChainMetadata(mint)
	document := s.describe(uri)
	override := s.logoOverride()
	document.Image = uriOrNone(override.Apply(document.Image))
	firstSeen, seen := s.integer(RegisterFirstSeen)
	lastSeen, seenLast := s.integer(RegisterLastSeen)
	// a sighting is no event of the mint and says only when it was first seen
	if seen && (!seenLast || lastSeen < firstSeen) {
		lastSeen, seenLast = firstSeen, true
	}
	token := Token{
		Mint:                 mint,
		Name:                 firstOf(name, document.Name),
		Symbol:               firstOf(symbol, document.Symbol),
		IsToken22:            s.value(RegisterProgram) == schemas.ProgramToken2022,
		FirstSeenAt:          buf.number(firstSeen, seen),
		LastSeenAt:           buf.number(lastSeen, seenLast),
		MintAuthority:        buf.text(s.value(RegisterMintAuthority)),
		FreezeAuthority:      buf.text(s.value(RegisterFreezeAuthority)),
		MetaplexURI:          buf.text(uriOrNone(uri)),
		UpdateAuthority:      buf.text(updateAuthority),
		SellerFeeBasisPoints: buf.number(s.integer(RegisterSellerFeeBasisPoints)),
		TokenStandard:        buf.number(s.integer(RegisterTokenStandard)),
		Description:          buf.text(document.Description),
		ExternalURL:          buf.text(uriOrNone(document.ExternalURL)),
		LogoURL:              buf.text(document.Image),
		LogoStatus:           s.logoStatus(document.Image, override.Purge),
		Launchpad:            buf.text(s.value(RegisterLaunchpad)),
		Creator:              buf.text(s.value(RegisterCreator)),
		GraduatedAt:          buf.number(s.integer(RegisterGraduated)),
	}
	token.Extensions = s.links(mint, document.Extensions)
	if len(document.Tags) > 0 {
		token.Tags = document.Tags
	}
	if mint != schemas.MintWrappedSOL {
		token.Supply = buf.text(s.supplyText())
	}
	decimals, _ := strconv.ParseUint(s.value(RegisterDecimals), 10, 8)
	token.Decimals = uint8(decimals)
	return token, s.Member(mint)
}

// onChainMetadata prefers Metaplex field by field; the Token-2022 extension counts only when the
// mint's pointer points to itself.
func (s *State) onChainMetadata(mint string) (name, symbol, uri, updateAuthority string) {
	name, symbol = s.value(RegisterMetaplexName), s.value(RegisterMetaplexSymbol)
	uri, updateAuthority = s.value(RegisterMetaplexURI), s.value(RegisterMetaplexUpdateAuthority)
	if s.value(RegisterMetadataPointer) != mint {
		return name, symbol, uri, updateAuthority
	}
	return firstOf(name, s.value(RegisterToken2022Name)), firstOf(symbol, s.value(RegisterToken2022Symbol)),
		firstOf(uri, s.value(RegisterToken2022URI)), firstOf(updateAuthority, s.value(RegisterToken2022UpdateAuthority))
}

// links are what the document links to and the additional fields that the mint holds in itself,
// which are the chain's word and go before the document's; nil for none.
func (s *State) links(mint string, document map[string]string) map[string]string {
	var fields map[string]string
	if s.value(RegisterMetadataPointer) == mint {
		fields = s.fields()
	}
	switch {
	case len(fields) == 0 && len(document) == 0:
		return nil
	case len(fields) == 0:
		return document
	}
	for name, value := range document {
		if _, ok := fields[name]; !ok {
			fields[name] = value
		}
	}
	return fields
}

// MetadataURI is the token's current off-chain metadata URI, empty when none is known.
func (s *State) MetadataURI(mint string) string {
	_, _, uri, _ := s.onChainMetadata(mint)
	return uri
}

// offchainOf returns the document fetched from uri, or an empty one: what another URI said does not
// count.
func (s *State) offchainOf(uri string) Offchain {
	value := s.value(RegisterOffchain)
	if value == "" {
		return Offchain{}
	}
	document, err := UnmarshalOffchain(value)
	if err != nil || document.URI != uri {
		return Offchain{}
	}
	return document
}

// describe is the document fetched from uri, and where it says nothing, the token lists in the
// order of their names. Tags are those of all of them, the lists' first, since a curator's word is
// worth more than the creator's.
func (s *State) describe(uri string) Offchain {
	document := s.offchainOf(uri)
	var tags []string
	s.listed(func(_ *Fact, entry *ListEntry) {
		document.Name = firstOf(document.Name, entry.Name)
		document.Symbol = firstOf(document.Symbol, entry.Symbol)
		document.Image = firstOf(document.Image, entry.LogoURI)
		if len(document.Extensions) == 0 {
			document.Extensions = entry.Extensions
		}
		tags = appendTags(tags, entry.Tags)
	})
	document.Tags = appendTags(tags, slices.DeleteFunc(document.Tags, IsReservedTag))
	return document
}

// logoOverride is what an operator decided about the logo, nothing where nobody did.
func (s *State) logoOverride() (override LogoOverride) {
	if value := s.value(RegisterLogoOverride); value == "" || json.Unmarshal([]byte(value), &override) != nil {
		return LogoOverride{}
	}
	return override
}

func (s *State) logoStatus(url string, purge uint64) string {
	if url == "" {
		return LogoMissing
	}
	if value := s.value(RegisterLogo); value != "" {
		if logo, err := UnmarshalLogo(value); err == nil && logo.URL == url && logo.Purge >= purge {
			return logo.Status
		}
	}
	return LogoUnchecked
}

// integer is a register's decimal value; not known where there is nothing, or no number.
func (s *State) integer(register Register) (n int64, known bool) {
	value := s.value(register)
	if value == "" { // most are; an error would be made for each
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// TokenBuffer holds what a token's pointers point to: two allocations instead of up to twelve. The
// zero value is empty; it grows as needed.
type TokenBuffer struct {
	texts   []string
	numbers []int64
}

func (o *TokenBuffer) text(value string) *string {
	if value == "" {
		return nil
	}
	if cap(o.texts) == 0 {
		o.texts = make([]string, 0, 10)
	}
	o.texts = append(o.texts, value)
	return &o.texts[len(o.texts)-1]
}

func (o *TokenBuffer) number(value int64, known bool) *int64 {
	if !known {
		return nil
	}
	if cap(o.numbers) == 0 {
		o.numbers = make([]int64, 0, 5)
	}
	o.numbers = append(o.numbers, value)
	return &o.numbers[len(o.numbers)-1]
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// WholeSupply is the supply in whole tokens, as near as a float is; nil where it is unknown.
func (t *Token) WholeSupply() *float64 {
	if t.Supply == nil {
		return nil
	}
	// Read as a number with an exponent it is rounded once.
	var number [32]byte
	text := strconv.AppendUint(append(append(number[:0], *t.Supply...), "e-"...), uint64(t.Decimals), 10)
	whole, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil
	}
	return &whole
}
