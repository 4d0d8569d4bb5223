package root

import (
	"encoding/binary"
	"strconv"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
)

// Version is the first byte of every element. Another set of fields, or another form of one, is
// another version and other roots.
const Version = 1

// Encode is the element of a mint, the canonical encoding of what the chain says of it; false when
// it has none, because it is no member of the registry. Two states of one mint have the same
// element exactly when they say the same, however they came to know it: values count, positions do
// not, and what is empty is as if it were unknown.
//
// The encoding is Version, the mint, then fields by ascending register: the register's number (one
// byte), for an extension the item, and the value. Mint, items and values are preceded by their
// length (unsigned varint).
func Encode(mint string, state *registry.State) ([]byte, bool) {
	return AppendEncode(nil, mint, state)
}

// AppendEncode appends the element to dst, which is returned as it was where there is none.
func AppendEncode(dst []byte, mint string, state *registry.State) ([]byte, bool) {
	v := look(mint, state.Facts())
	if !v.member() {
		return dst, false
	}
	dst = append(dst, Version)
	dst = appendText(dst, mint)
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

// fields are the registers that an element shows, ascending.
var fields = [...]registry.Register{
	registry.RegisterProgram, registry.RegisterDecimals, registry.RegisterSupply,
	registry.RegisterMintAuthority, registry.RegisterFreezeAuthority,
	registry.RegisterMetaplexName, registry.RegisterMetaplexSymbol, registry.RegisterMetaplexURI, registry.RegisterMetaplexUpdateAuthority,
	registry.RegisterSellerFeeBasisPoints, registry.RegisterTokenStandard,
	registry.RegisterToken2022Name, registry.RegisterToken2022Symbol, registry.RegisterToken2022URI, registry.RegisterToken2022UpdateAuthority,
	registry.RegisterMetadataPointer, registry.RegisterExtension,
}

// Counts says whether facts about a register can change an element. The others are not the chain's
// word (off-chain documents, logos), or say when this node saw something (first and last seen), or
// are of a newer version.
func Counts(register registry.Register) bool {
	switch register {
	case registry.RegisterOffchain, registry.RegisterLogo, registry.RegisterFirstSeen, registry.RegisterLastSeen:
		return false
	default:
		return register >= registry.RegisterProgram && register <= registry.RegisterClosed
	}
}

// SlotOf is the slot at which the chain stated a fact.
func SlotOf(fact *registry.Fact) uint64 {
	if fact.Register == registry.RegisterFirstSeen {
		return fact.Position.Reverse().Slot // the one register whose positions are reversed
	}
	return fact.Position.Slot
}

// Highest is the highest slot of the facts that count, 0 for none.
func Highest(facts []registry.Fact) (slot uint64) {
	for i := range facts {
		if Counts(facts[i].Register) {
			slot = max(slot, SlotOf(&facts[i]))
		}
	}
	return slot
}

// view is a state's facts, looked through once.
type view struct {
	mint        string
	facts       [registry.RegisterClosed + 1]*registry.Fact
	extensions  []registry.Fact
	decimals    uint8
	hasDecimals bool
	supply      uint64
	supplyKnown bool
}

// look reads facts sorted by register and item.
func look(mint string, facts []registry.Fact) (v view) {
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
	if base := v.facts[registry.RegisterSupply]; base != nil && v.hasDecimals && mint != schemas.MintWrappedSOL {
		v.supply, v.supplyKnown = supply(base, deltas)
	}
	return v
}

// endOf is the index behind the last fact of the register of facts[from].
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

// member is the second result of registry.State.Token, by the same rule, without what it costs to
// make a Token.
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
