package audit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
)

// Names of the fields that are not a column of their own.
const (
	// FieldExists: the registry lists the mint, and the chain has a mint account there.
	FieldExists = "exists"
	// FieldExtensions: the names of a Token-2022 mint's extensions, each compared by itself.
	FieldExtensions = "extensions"
	// FieldExtensionAttributes: the values inside them, each compared by itself.
	FieldExtensionAttributes = "extension_attributes"
	// FieldExtensionBalances: the attributes that are amounts and counts. They change with
	// instructions that are no events of the mint, so they are as of the last read of the account,
	// and no part of Report.Check.
	FieldExtensionBalances = "extension_balances"
	// FieldRow: the columns of the row in ClickHouse say what its facts say.
	FieldRow = "row"
)

// view is a token as one side says it.
type view struct {
	mint  string
	token registry.Token
	facts map[registry.Register]registry.Fact // without items
	items map[string]string                   // of RegisterExtension
}

func viewOf(mint string, facts []registry.Fact) *view {
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

// ownMetadata says that the Token-2022 metadata counts: the mint's pointer points to itself.
func (v *view) ownMetadata() bool { return v.facts[registry.RegisterMetadataPointer].Value == v.mint }

// field is one thing to compare.
type field struct {
	name string
	// registers that the value is made of: when one of them changed behind the slot of the read,
	// the field has moved.
	registers []registry.Register
	// value is what the side says; false when it does not know.
	value func(v *view) (string, bool)
}

// fields are compared when the mint exists on both sides, in this order.
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

// fieldNames are all fields in the order of the report.
func fieldNames() []string {
	names := []string{FieldExists}
	for _, f := range fields() {
		names = append(names, f.name)
	}
	return append(names, FieldExtensions, FieldExtensionAttributes, FieldExtensionBalances, FieldRow)
}

// isBalance says that the attribute, as extension.attribute, is an amount or a count inside the
// extension.
func isBalance(item string) bool {
	_, attribute, _ := strings.Cut(item, ".")
	switch attribute {
	case "withheld_amount", "confidential_supply", "decryptable_supply", "pending_burn":
		return true
	default:
		return item == "token_group.size"
	}
}

// fromChain says that accounts state the register. The others (off-chain documents, logos, lists,
// times) are left out on both sides.
func fromChain(register registry.Register) bool {
	switch register {
	case registry.RegisterOffchain, registry.RegisterLogo, registry.RegisterTokenList, registry.RegisterFirstSeen, registry.RegisterLastSeen:
		return false
	default:
		return true
	}
}

// asOf are the facts that held at the end of slot, as far as they still hold: what was replaced
// since is not among them.
func asOf(facts []registry.Fact, slot uint64) (held []registry.Fact, moved map[registry.Register]bool, movedItems map[string]bool) {
	moved, movedItems = map[registry.Register]bool{}, map[string]bool{}
	end := schemas.EndOfSlot(slot)
	for _, fact := range facts {
		switch {
		case !fromChain(fact.Register):
		case fact.Position.Compare(end) <= 0:
			held = append(held, fact)
		case fact.Register == registry.RegisterSupplyDelta:
			// it does not replace anything: without it the supply is that of the slot
		default:
			moved[fact.Register] = true
			if fact.Register == registry.RegisterExtension {
				movedItems[fact.Item] = true
			}
		}
	}
	return held, moved, movedItems
}
