package registry

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Token is one row of the registry as users see it: the API's body and the columns of ClickHouse's
// tokens. A nil pointer is null. LogoURL, MetaplexURI and ExternalURL are URIs: a text that cannot
// be one stays a fact but is not shown. If the logo is such a text, its status is missing. Name,
// Symbol and what the mint itself adds to Extensions are as Shown makes them.
type Token struct {
	Mint                 pubkey.Key        `json:"mint"`
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
	// Only mints with scaled amounts have these, see Multipliers.
	UIMultiplier       *float64 `json:"ui_multiplier,omitempty"`
	NextUIMultiplier   *float64 `json:"next_ui_multiplier,omitempty"`
	NextUIMultiplierAt *int64   `json:"next_ui_multiplier_at,omitempty"`
}

// Token returns the state of a mint as users see it. The second result reports whether the mint is
// a member of the registry: its decimals and program are known, it is not closed, and it is not
// known to be non-fungible.
func (s *State) Token(mint pubkey.Key) (Token, bool) { return s.TokenIn(mint, &TokenBuffer{}) }

// TokenIn is like Token, but stores what the token's pointers point to in buf. The token is valid
// until the next call with the same buf.
func (s *State) TokenIn(mint pubkey.Key, buf *TokenBuffer) (Token, bool) {
	buf.texts, buf.numbers = buf.texts[:0], buf.numbers[:0]
	own := s.pointsTo(mint)
	name, symbol, uri, updateAuthority := s.onChainMetadata(own)
	document := s.describe(uri)
	override := s.logoOverride()
	document.Image = uriOrNone(override.Apply(document.Image))
	firstSeen, seen := s.integer(RegisterFirstSeen)
	lastSeen, seenLast := s.integer(RegisterLastSeen)
	// A sighting sets first seen only.
	if seen && (!seenLast || lastSeen < firstSeen) {
		lastSeen, seenLast = firstSeen, true
	}
	token := Token{
		Mint:                 mint,
		Name:                 Shown(firstOf(name, document.Name)),
		Symbol:               Shown(firstOf(symbol, document.Symbol)),
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
	multipliers := s.multipliers()
	token.UIMultiplier, token.NextUIMultiplier, token.NextUIMultiplierAt = multipliers.Now, multipliers.Next, multipliers.NextAt
	token.Extensions = s.links(own, document.Extensions)
	if len(document.Tags) > 0 {
		token.Tags = document.Tags
	}
	if mint != wrappedSOL {
		token.Supply = buf.text(s.supplyText())
	}
	decimals, _ := strconv.ParseUint(s.value(RegisterDecimals), 10, 8)
	token.Decimals = uint8(decimals)
	return token, s.Member(mint)
}

// pointsTo reports whether the mint's metadata pointer names the mint itself: then its Token-2022
// metadata counts.
func (s *State) pointsTo(mint pubkey.Key) bool {
	pointer, err := pubkey.Parse(s.value(RegisterMetadataPointer))
	return err == nil && pointer == mint
}

// onChainMetadata returns the metadata on the chain. Field by field, it prefers Metaplex to the
// Token-2022 extension. The extension counts only if own is set.
func (s *State) onChainMetadata(own bool) (name, symbol, uri, updateAuthority string) {
	name, symbol = s.value(RegisterMetaplexName), s.value(RegisterMetaplexSymbol)
	uri, updateAuthority = s.value(RegisterMetaplexURI), s.value(RegisterMetaplexUpdateAuthority)
	if !own {
		return name, symbol, uri, updateAuthority
	}
	return firstOf(name, s.value(RegisterToken2022Name)), firstOf(symbol, s.value(RegisterToken2022Symbol)),
		firstOf(uri, s.value(RegisterToken2022URI)), firstOf(updateAuthority, s.value(RegisterToken2022UpdateAuthority))
}

// links returns the links of the off-chain document and the additional fields that the mint itself
// holds; nil if there are none. A field replaces a link of the same name, because it is on the
// chain.
func (s *State) links(own bool, document map[string]string) map[string]string {
	var fields map[string]string
	if own {
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

// MetadataURI returns the token's current off-chain metadata URI; empty if none is known.
func (s *State) MetadataURI(mint pubkey.Key) string {
	_, _, uri, _ := s.onChainMetadata(s.pointsTo(mint))
	return uri
}

// offchainOf returns the document fetched from uri, or an empty one. A document from another URI
// does not count.
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

// describe returns the document fetched from uri. The token lists, in the order of their names,
// fill the fields that the document leaves empty. The result's tags are those of the lists, then
// the document's own except the reserved ones: only a list may give those.
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

// logoOverride returns the operator's decision about the logo; the zero value if there is none.
func (s *State) logoOverride() (override LogoOverride) {
	if value := s.value(RegisterLogoOverride); value == "" || json.Unmarshal([]byte(value), &override) != nil {
		return LogoOverride{}
	}
	return override
}

// logoStatus returns the status of the logo at url. The last check counts if it was of the same URL
// and was not made before the purge. Otherwise the logo is unchecked. Without a URL it is missing.
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

// integer returns a register's decimal value. known is false if the register has no value, or no
// number.
func (s *State) integer(register Register) (n int64, known bool) {
	value := s.value(register)
	if value == "" { // the usual case: ParseInt would allocate an error
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// TokenBuffer stores what a token's pointers point to: two allocations instead of one for each
// pointer. The zero value is an empty buffer; it grows as needed.
type TokenBuffer struct {
	texts   []string
	numbers []int64
}

func (b *TokenBuffer) text(value string) *string {
	if value == "" {
		return nil
	}
	if cap(b.texts) == 0 {
		b.texts = make([]string, 0, 10) // as many as TokenIn uses
	}
	b.texts = append(b.texts, value)
	return &b.texts[len(b.texts)-1]
}

func (b *TokenBuffer) number(value int64, known bool) *int64 {
	if !known {
		return nil
	}
	if cap(b.numbers) == 0 {
		b.numbers = make([]int64, 0, 5) // as many as TokenIn uses
	}
	b.numbers = append(b.numbers, value)
	return &b.numbers[len(b.numbers)-1]
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// WholeSupply returns the supply in whole tokens, rounded to a float64; nil if it is unknown.
func (t *Token) WholeSupply() *float64 {
	if t.Supply == nil {
		return nil
	}
	// Parsed as "SUPPLYe-DECIMALS", the number is rounded only once.
	var number [32]byte
	text := strconv.AppendUint(append(append(number[:0], *t.Supply...), "e-"...), uint64(t.Decimals), 10)
	whole, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil
	}
	return &whole
}
