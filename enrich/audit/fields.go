package audit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Names of the fields that fields does not list.
const (
	// FieldExists: whether there is such a mint, in the registry and on the chain.
	FieldExists = "exists"
	// FieldExtensions: the names of a Token-2022 mint's extensions, each compared separately.
	FieldExtensions = "extensions"
	// FieldExtensionAttributes: the values inside the extensions, each compared separately.
	FieldExtensionAttributes = "extension_attributes"
	// FieldExtensionBalances: the attributes that are amounts and counts. Instructions that make no
	// events of the mint change them, so the registry has them as of the last read of the account.
	// Report.Check ignores them.
	FieldExtensionBalances = "extension_balances"
	// FieldRow: whether the columns of the row in ClickHouse agree with its facts.
	FieldRow = "row"
)

// view is a token as one side, the registry or the chain, describes it.
type view struct {
	mint  pubkey.Key
	token registry.Token
	facts map[registry.Register]registry.Fact // the facts without an item
	items map[string]string                   // the values of RegisterExtension by item
}

func viewOf(mint pubkey.Key, facts []registry.Fact) *view {
	var state registry.State
	for _, fact := range facts {
		state.Apply(fact)
	}
	v := &view{mint: mint, facts: map[registry.Register]registry.Fact{}, items: map[string]string{}}
	v.token, _ = state.Token(mint)
	for _, fact := range state.Facts() {
		switch {
		case fact.Register == registry.RegisterExtension:
			v.items[fact.Item] = fact.Value
		case fact.Item == "":
			v.facts[fact.Register] = fact
		}
	}
	return v
}

func (v *view) knows(registers ...registry.Register) bool {
	return slices.ContainsFunc(registers, func(r registry.Register) bool { _, ok := v.facts[r]; return ok })
}

// ownMetadata reports whether the Token-2022 metadata counts: the mint's pointer names the mint.
func (v *view) ownMetadata() bool {
	return v.facts[registry.RegisterMetadataPointer].Value == v.mint.String()
}

// field is one thing to compare.
type field struct {
	name string
	// registers are what the value is made of. If one of them changed after the slot of the read,
	// the field has moved.
	registers []registry.Register
	// value returns what a side says; false if it does not know.
	value func(v *view) (string, bool)
}

// fields returns the fields that are compared if the mint exists on both sides, in this order.
func fields() []field {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	one := func(name string, register registry.Register, value func(t *registry.Token) string) field {
		return field{name, []registry.Register{register}, func(v *view) (string, bool) { return value(&v.token), v.knows(register) }}
	}
	metadata := func(name string, metaplex, token2022 registry.Register, value func(t *registry.Token) string) field {
		return field{name, []registry.Register{metaplex, token2022, registry.RegisterMetadataPointer}, func(v *view) (string, bool) {
			return value(&v.token), v.knows(metaplex) || v.ownMetadata() && v.knows(token2022)
		}}
	}
	return []field{
		{"program", []registry.Register{registry.RegisterProgram}, func(v *view) (string, bool) {
			return v.facts[registry.RegisterProgram].Value, v.knows(registry.RegisterProgram)
		}},
		one("decimals", registry.RegisterDecimals, func(t *registry.Token) string { return strconv.Itoa(int(t.Decimals)) }),
		{"supply", []registry.Register{registry.RegisterSupply}, func(v *view) (string, bool) { return text(v.token.Supply), v.token.Supply != nil }},
		one("mint_authority", registry.RegisterMintAuthority, func(t *registry.Token) string { return text(t.MintAuthority) }),
		one("freeze_authority", registry.RegisterFreezeAuthority, func(t *registry.Token) string { return text(t.FreezeAuthority) }),
		metadata("name", registry.RegisterMetaplexName, registry.RegisterToken2022Name, func(t *registry.Token) string { return t.Name }),
		metadata("symbol", registry.RegisterMetaplexSymbol, registry.RegisterToken2022Symbol, func(t *registry.Token) string { return t.Symbol }),
		metadata("metaplex_uri", registry.RegisterMetaplexURI, registry.RegisterToken2022URI, func(t *registry.Token) string { return text(t.MetaplexURI) }),
		metadata("update_authority", registry.RegisterMetaplexUpdateAuthority, registry.RegisterToken2022UpdateAuthority,
			func(t *registry.Token) string { return text(t.UpdateAuthority) }),
		one("seller_fee_basis_points", registry.RegisterSellerFeeBasisPoints, func(t *registry.Token) string { return number(t.SellerFeeBasisPoints) }),
		one("token_standard", registry.RegisterTokenStandard, func(t *registry.Token) string { return number(t.TokenStandard) }),
		{"metadata_pointer", []registry.Register{registry.RegisterMetadataPointer}, func(v *view) (string, bool) {
			return v.facts[registry.RegisterMetadataPointer].Value, v.knows(registry.RegisterMetadataPointer)
		}},
	}
}

// fieldNames returns the names of all fields in the order of the report.
func fieldNames() []string {
	names := []string{FieldExists}
	for _, f := range fields() {
		names = append(names, f.name)
	}
	return append(names, FieldExtensions, FieldExtensionAttributes, FieldExtensionBalances, FieldRow)
}

// isBalance reports whether an attribute, named extension.attribute, is an amount or a count.
func isBalance(item string) bool {
	_, attribute, _ := strings.Cut(item, ".")
	switch attribute {
	case "withheld_amount", "confidential_supply", "decryptable_supply", "pending_burn":
		return true
	default:
		return item == "token_group.size"
	}
}

// fromChain reports whether accounts state the register. The others (off-chain documents, logos,
// lists, times, launches) are left out on both sides.
func fromChain(register registry.Register) bool {
	switch register {
	case registry.RegisterOffchain, registry.RegisterLogo, registry.RegisterLogoOverride, registry.RegisterTokenList,
		registry.RegisterFirstSeen, registry.RegisterLastSeen,
		registry.RegisterLaunchpad, registry.RegisterCreator, registry.RegisterGraduated:
		return false
	default:
		return true
	}
}

// laterFacts are the facts of a mint after the slot of a read: the last fact of each register, and
// of extensions also the fact of each item.
type laterFacts struct {
	registers map[registry.Register]registry.Fact
	items     map[string]registry.Fact
}

func (l *laterFacts) add(register registry.Register, fact registry.Fact) {
	if before, ok := l.registers[register]; !ok || before.Position.Compare(fact.Position) < 0 {
		l.registers[register] = fact
	}
	if register == registry.RegisterExtension {
		l.items[fact.Item] = fact
	}
}

// asOf splits the facts of a mint. held are those up to the end of slot, which still hold. moved
// are the later ones: what their registers had at slot is no longer known. head is the chain's
// head.
func asOf(facts []registry.Fact, slot, head uint64) (held []registry.Fact, moved laterFacts) {
	moved = laterFacts{map[registry.Register]registry.Fact{}, map[string]registry.Fact{}}
	end := schemas.EndOfSlot(slot)
	for _, fact := range facts {
		switch {
		case !fromChain(fact.Register):
		case fact.Position.Compare(end) <= 0:
			held = append(held, fact)
		case fact.Register != registry.RegisterSupplyDelta:
			moved.add(fact.Register, fact)
		case fact.Position.Slot > head:
			moved.add(registry.RegisterSupply, fact) // it cannot be true: the supply is to differ
		default:
			// A later change of supply replaces no fact: without this change, the supply is that at
			// slot.
		}
	}
	return held, moved
}
