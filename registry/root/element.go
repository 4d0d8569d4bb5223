package root

import (
	"encoding/binary"
	"strconv"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// ElementVersion is the first byte of every element, in the roots of all Versions. Other fields, or
// another encoding of a field, need another version, and give other roots.
const ElementVersion = 1

// AppendEncode appends the element of a mint to dst: the canonical encoding of what the chain
// states about it. If the mint is not a member of the registry, it has no element: AppendEncode
// returns dst unchanged and false. Two states of one mint have the same element exactly if they
// have the same values in the fields below, whatever facts they were made of. Positions do not
// count, and an empty value is the same as an unknown one.
//
// The encoding is ElementVersion, the mint in base58, then the fields by ascending register. A
// field is the register's number (one byte), the item (only for an extension) and the value. Mint,
// items and values are preceded by their length (unsigned varint).
func AppendEncode(dst []byte, mint pubkey.Key, state *registry.State) ([]byte, bool) {
	v := viewOf(mint, state.Facts())
	if !v.member() {
		return dst, false
	}
	dst = append(dst, ElementVersion)
	dst = appendText(dst, mint.String())
	for _, register := range fields {
		switch register {
		case registry.RegisterDecimals:
			dst = appendNumber(dst, register, int64(v.decimals))
		case registry.RegisterSupply:
			if v.supplyKnown {
				dst = appendUnsigned(dst, register, v.supply)
			}
		case registry.RegisterSellerFeeBasisPoints, registry.RegisterTokenStandard:
			if n, ok := v.number(register); ok {
				dst = appendNumber(dst, register, n)
			}
		case registry.RegisterExtension:
			dst = appendExtensions(dst, v.extensions)
		default:
			if value := v.value(register); value != "" {
				dst = appendField(dst, register, value)
			}
		}
	}
	return dst, true
}

// fields are the registers that an element contains, ascending.
var fields = [...]registry.Register{
	registry.RegisterProgram, registry.RegisterDecimals, registry.RegisterSupply,
	registry.RegisterMintAuthority, registry.RegisterFreezeAuthority,
	registry.RegisterMetaplexName, registry.RegisterMetaplexSymbol, registry.RegisterMetaplexURI, registry.RegisterMetaplexUpdateAuthority,
	registry.RegisterSellerFeeBasisPoints, registry.RegisterTokenStandard,
	registry.RegisterToken2022Name, registry.RegisterToken2022Symbol, registry.RegisterToken2022URI, registry.RegisterToken2022UpdateAuthority,
	registry.RegisterMetadataPointer, registry.RegisterExtension,
}

// Counts reports whether facts about a register can change an element. The other registers are not
// on the chain (off-chain documents, logos), depend on when this node saw the mint (first and last
// seen), or are newer than ElementVersion. A retraction is in no element, but it takes facts out of
// them.
func Counts(register registry.Register) bool {
	switch register {
	case registry.RegisterOffchain, registry.RegisterLogo, registry.RegisterFirstSeen, registry.RegisterLastSeen:
		return false
	case registry.RegisterRetraction:
		return true
	default:
		return register >= registry.RegisterProgram && register <= registry.RegisterClosed
	}
}

// SlotOf returns the slot at which the chain stated a fact.
func SlotOf(fact *registry.Fact) uint64 {
	if fact.Register == registry.RegisterFirstSeen {
		return fact.Position.Reverse().Slot // the one register whose positions are reversed
	}
	return fact.Position.Slot
}

// Highest returns the highest slot of the facts that count; 0 if there are none.
func Highest(facts []registry.Fact) (slot uint64) {
	for i := range facts {
		if Counts(facts[i].Register) {
			slot = max(slot, SlotOf(&facts[i]))
		}
	}
	return slot
}

// view is what an element needs of a state, collected in one pass over its facts.
type view struct {
	mint        pubkey.Key
	facts       [registry.RegisterClosed + 1]*registry.Fact
	extensions  []registry.Fact
	decimals    uint8
	hasDecimals bool
	supply      uint64
	supplyKnown bool
}

// viewOf makes the view of facts that are sorted by register and item.
func viewOf(mint pubkey.Key, facts []registry.Fact) (v view) {
	v.mint = mint
	var deltas []registry.Fact
	for i := 0; i < len(facts) && facts[i].Register <= registry.RegisterClosed; i++ {
		switch register := facts[i].Register; register {
		case registry.RegisterSupplyDelta:
			end := endOf(facts, i)
			deltas = facts[i:end]
			i = end - 1
		case registry.RegisterExtension:
			end := endOf(facts, i)
			v.extensions = facts[i:end]
			i = end - 1
		default:
			if facts[i].Item == "" {
				v.facts[register] = &facts[i]
			}
		}
	}
	decimals, err := strconv.ParseUint(v.value(registry.RegisterDecimals), 10, 8)
	v.decimals, v.hasDecimals = uint8(decimals), err == nil
	if base := v.facts[registry.RegisterSupply]; base != nil && v.hasDecimals && mint != registry.WrappedSOL() {
		v.supply, v.supplyKnown = supply(base, deltas)
	}
	return v
}

// endOf returns the index after the last fact that has the register of facts[from].
func endOf(facts []registry.Fact, from int) int {
	register := facts[from].Register
	for from < len(facts) && facts[from].Register == register {
		from++
	}
	return from
}

func (v *view) value(register registry.Register) string {
	if fact := v.facts[register]; fact != nil {
		return fact.Value
	}
	return ""
}

func (v *view) number(register registry.Register) (int64, bool) {
	value := v.value(register)
	if value == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// member returns the second result of registry.State.Token, by the same rule, without the cost of
// making a Token.
func (v *view) member() bool {
	m := registry.Membership{
		Mint: v.mint, Program: v.value(registry.RegisterProgram), Closed: v.value(registry.RegisterClosed) == "true", DecimalsKnown: v.hasDecimals,
		Decimals: v.decimals, SupplyKnown: v.supplyKnown, Supply: v.supply,
	}
	m.TokenStandard, m.StandardKnown = v.number(registry.RegisterTokenStandard)
	if authority := v.facts[registry.RegisterMintAuthority]; authority != nil {
		m.AuthorityKnown, m.MintAuthority = true, authority.Value
	}
	return m.Member()
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func appendField(dst []byte, register registry.Register, value string) []byte {
	return appendText(append(dst, byte(register)), value)
}

func appendNumber(dst []byte, register registry.Register, n int64) []byte {
	if n >= 0 {
		return appendUnsigned(dst, register, uint64(n))
	}
	return appendField(dst, register, strconv.FormatInt(n, 10))
}

func appendUnsigned(dst []byte, register registry.Register, n uint64) []byte {
	at := len(dst) + 1
	dst = strconv.AppendUint(append(dst, byte(register), 0), n, 10)
	dst[at] = byte(len(dst) - at - 1) // 20 digits at most
	return dst
}
