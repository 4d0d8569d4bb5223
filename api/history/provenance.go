package history

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/registry"
)

// Origin is where a fact came from.
type Origin struct {
	// Source is instruction, sighting, account_read, off_chain, logo, token_list, retraction or
	// import.
	Source string `json:"source"`
	// Slot is the slot of the instruction or of the read; 0 for a token list, which has none.
	Slot        uint64  `json:"slot"`
	Signature   *string `json:"signature"`
	Instruction *string `json:"instruction"`
}

// OriginOf returns the origin of a row's facts.
func OriginOf(row *Row) Origin {
	return Origin{Source: row.Source, Slot: row.Position.Slot, Signature: optional(row.Signature), Instruction: optional(row.Instruction)}
}

const fieldLastSeen = "last_seen_at"

// fieldRegisters are the fields that come from one register only, with that register.
var fieldRegisters = []struct {
	field    string
	register registry.Register
}{
	{"decimals", registry.RegisterDecimals}, {"is_token22", registry.RegisterProgram}, {"first_seen_at", registry.RegisterFirstSeen},
	{fieldLastSeen, registry.RegisterLastSeen}, {"mint_authority", registry.RegisterMintAuthority},
	{"freeze_authority", registry.RegisterFreezeAuthority}, {"seller_fee_basis_points", registry.RegisterSellerFeeBasisPoints},
	{"token_standard", registry.RegisterTokenStandard}, {"launchpad", registry.RegisterLaunchpad}, {"creator", registry.RegisterCreator},
	{"graduated_at", registry.RegisterGraduated},
}

// Provenance returns the origin of each field that is not null: the origin of the fact that holds.
// This is the last message that stated the fact, even if it changed nothing. The supply's origin is
// the last mint_to or burn after the last read, or else that read. The rules are those of
// registry.State.Token; a property test compares the two.
func (s *Snapshot) Provenance() map[string]Origin {
	token, _ := s.Token()
	p := provenance{snapshot: s, origins: map[string]Origin{}}
	for _, f := range fieldRegisters {
		if h, ok := s.register(f.register); ok && h.Fact.Value != "" {
			p.origins[f.field] = h.Origin
		}
	}
	if token.Supply != nil {
		p.supply()
	}
	p.lastSeen(token.LastSeenAt)
	p.multipliers()
	p.onChain("metaplex_uri", registry.RegisterMetaplexURI, registry.RegisterToken2022URI)
	p.onChain("update_authority", registry.RegisterMetaplexUpdateAuthority, registry.RegisterToken2022UpdateAuthority)
	if !p.onChain("name", registry.RegisterMetaplexName, registry.RegisterToken2022Name) {
		p.described("name", func(d registry.Offchain) bool { return d.Name != "" }, func(l registry.ListEntry) bool { return l.Name != "" })
	}
	if !p.onChain("symbol", registry.RegisterMetaplexSymbol, registry.RegisterToken2022Symbol) {
		p.described("symbol", func(d registry.Offchain) bool { return d.Symbol != "" }, func(l registry.ListEntry) bool { return l.Symbol != "" })
	}
	p.described("logo_url", func(d registry.Offchain) bool { return d.Image != "" }, func(l registry.ListEntry) bool { return l.LogoURI != "" })
	p.described("extensions", func(d registry.Offchain) bool { return len(d.Extensions) > 0 }, func(l registry.ListEntry) bool { return len(l.Extensions) > 0 })
	p.tags()
	none := func(registry.ListEntry) bool { return false }
	p.described("description", func(d registry.Offchain) bool { return d.Description != "" }, none)
	p.described("external_url", func(d registry.Offchain) bool { return d.ExternalURL != "" }, none)
	p.logoOverride(token.LogoURL != nil)
	p.fields()
	p.logoStatus(token.LogoStatus)
	// A text that is no URI is not shown, so it has no origin.
	for field, shown := range map[string]*string{"metaplex_uri": token.MetaplexURI, "external_url": token.ExternalURL, "logo_url": token.LogoURL} {
		if shown == nil {
			delete(p.origins, field)
		}
	}
	return p.origins
}

func (s *Snapshot) register(register registry.Register) (Held, bool) {
	h, ok := s.held[registerKey(register, "")]
	return h, ok
}

func (s *Snapshot) value(register registry.Register) string {
	h, _ := s.register(register)
	return h.Fact.Value
}

// provenance collects the origins of one snapshot's fields.
type provenance struct {
	snapshot *Snapshot
	origins  map[string]Origin
}

func (p *provenance) supply() {
	newest, _ := p.snapshot.register(registry.RegisterSupply)
	for _, h := range p.snapshot.held {
		if h.Fact.Register == registry.RegisterSupplyDelta && h.Fact.Position.Compare(newest.Fact.Position) > 0 {
			newest = h
		}
	}
	p.origins["supply"] = newest.Origin
}

// multipliers sets the origins of the multipliers. The next multiplier and its time were announced
// by one fact. They keep its origin after that time has come.
func (p *provenance) multipliers() {
	m := registry.MultipliersOf(func(item string) string { return p.extension(item).Fact.Value })
	if m.Now != nil {
		p.origins["ui_multiplier"] = p.extension(m.NowItem).Origin
	}
	if m.Next != nil {
		announced := p.extension(registry.AttributeNewMultiplier).Origin
		p.origins["next_ui_multiplier"], p.origins["next_ui_multiplier_at"] = announced, announced
	}
}

// extension returns the fact that holds about an extension or an attribute of one; the zero value
// if there is none.
func (p *provenance) extension(item string) Held {
	return p.snapshot.held[registerKey(registry.RegisterExtension, item)]
}

// lastSeen sets the origin of last_seen_at if no event came after the mint was first seen:
// last_seen_at is then first_seen_at, and has its origin.
func (p *provenance) lastSeen(shown *int64) {
	last := p.snapshot.value(registry.RegisterLastSeen)
	if shown != nil && strconv.FormatInt(*shown, 10) != last {
		p.origins[fieldLastSeen] = p.origins["first_seen_at"]
	}
}

// onChain sets a field's origin from on-chain metadata, and returns whether this metadata has the
// field. Metaplex goes first. The Token-2022 extension counts only if the mint's metadata pointer
// points to the mint itself.
func (p *provenance) onChain(field string, metaplex, own registry.Register) bool {
	registers := []registry.Register{metaplex}
	if p.snapshot.value(registry.RegisterMetadataPointer) == p.snapshot.mint.String() {
		registers = append(registers, own)
	}
	for _, register := range registers {
		if h, ok := p.snapshot.register(register); ok && h.Fact.Value != "" {
			p.origins[field] = h.Origin
			return true
		}
	}
	return false
}

// described sets a field's origin from the off-chain metadata or, if that lacks the field, from the
// token lists.
func (p *provenance) described(field string, inDocument func(registry.Offchain) bool, inList func(registry.ListEntry) bool) {
	if !p.documented(field, inDocument) {
		p.listed(field, inList)
	}
}

// tags sets the origin of the tags. The tags of lists and of off-chain metadata are shown together,
// in this order. The origin is the first of these two that has tags.
func (p *provenance) tags() {
	creators := func(d registry.Offchain) bool {
		return slices.ContainsFunc(d.Tags, func(tag string) bool { return !registry.IsReservedTag(tag) })
	}
	if !p.listed("tags", func(l registry.ListEntry) bool { return len(l.Tags) > 0 }) {
		p.documented("tags", creators)
	}
}

// documented sets a field's origin to the off-chain metadata of the current URI, if that metadata
// has the field. It returns whether it does.
func (p *provenance) documented(field string, says func(registry.Offchain) bool) bool {
	var document registry.Offchain
	h, ok := p.snapshot.register(registry.RegisterOffchain)
	if !ok || json.Unmarshal([]byte(h.Fact.Value), &document) != nil || document.URI != p.snapshot.fold.state.MetadataURI(p.snapshot.mint) || !says(document) {
		return false
	}
	p.origins[field] = h.Origin
	return true
}

// listed sets a field's origin to the first token list by name that has the field. It returns
// whether there is such a list.
func (p *provenance) listed(field string, says func(registry.ListEntry) bool) bool {
	var lists []Held
	for _, h := range p.snapshot.held {
		if h.Fact.Register == registry.RegisterTokenList {
			lists = append(lists, h)
		}
	}
	slices.SortFunc(lists, func(a, b Held) int { return strings.Compare(a.Fact.Item, b.Fact.Item) })
	for _, h := range lists {
		var entry registry.ListEntry
		if json.Unmarshal([]byte(h.Fact.Value), &entry) == nil && !entry.Removed && says(entry) {
			p.origins[field] = h.Origin
			return true
		}
	}
	return false
}

// fields sets the origin of extensions if the mint's own metadata has additional fields that are
// shown: they go before the links of off-chain metadata. The origin is the field that was stated
// last.
func (p *provenance) fields() {
	if p.snapshot.value(registry.RegisterMetadataPointer) != p.snapshot.mint.String() {
		return
	}
	var newest Held
	for _, h := range p.snapshot.held {
		if h.Fact.Register != registry.RegisterToken2022Field || !registry.FieldShown(&h.Fact) {
			continue
		}
		order := h.Fact.Position.Compare(newest.Fact.Position)
		if newest.Fact.Item == "" || order > 0 || order == 0 && h.Fact.Item < newest.Fact.Item {
			newest = h
		}
	}
	if newest.Fact.Item != "" {
		p.origins["extensions"] = newest.Origin
	}
}

// logoOverride sets the origin of logo_url if an operator has chosen the URL, which goes before the
// token's own. If the operator has hidden the logo, it has no origin.
func (p *provenance) logoOverride(shown bool) {
	var override registry.LogoOverride
	h, ok := p.snapshot.register(registry.RegisterLogoOverride)
	switch {
	case !ok || json.Unmarshal([]byte(h.Fact.Value), &override) != nil:
	case !shown:
		delete(p.origins, "logo_url")
	case override.URL != "":
		p.origins["logo_url"] = h.Origin
	}
}

// logoStatus sets the origin of logo_status: the last check of the logo or, before the first check,
// the origin of logo_url. The status of a missing logo has no origin.
func (p *provenance) logoStatus(status string) {
	switch status {
	case registry.LogoMissing:
	case registry.LogoUnchecked:
		p.origins["logo_status"] = p.origins["logo_url"]
	default:
		if h, ok := p.snapshot.register(registry.RegisterLogo); ok {
			p.origins["logo_status"] = h.Origin
		}
	}
}
