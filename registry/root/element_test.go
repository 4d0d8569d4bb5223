package root_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

var mintA = pubkey.MustParse("So11111111111111111111111111111111111111113")

func at(slot uint64) schemas.Position { return schemas.Position{Slot: slot, Order: 1} }

func fact(register registry.Register, slot uint64, value string) registry.Fact {
	return registry.Fact{Mint: mintA, Register: register, Position: at(slot), Value: value}
}

func item(register registry.Register, name string, slot uint64, value string) registry.Fact {
	f := fact(register, slot, value)
	f.Item = name
	return f
}

func stateOf(facts ...registry.Fact) *registry.State {
	state := new(registry.State)
	for _, f := range facts {
		state.Apply(f)
	}
	return state
}

// whole is a token with every register set.
func whole() []registry.Fact {
	return []registry.Fact{
		fact(registry.RegisterProgram, 5, schemas.ProgramToken2022),
		fact(registry.RegisterDecimals, 5, "6"),
		fact(registry.RegisterSupply, 5, "0"),
		item(registry.RegisterSupplyDelta, "a", 6, "1000"),
		item(registry.RegisterSupplyDelta, "b", 7, "-300"),
		fact(registry.RegisterMintAuthority, 5, "authority1"),
		fact(registry.RegisterFreezeAuthority, 5, "authority2"),
		fact(registry.RegisterMetaplexName, 5, "Name"),
		fact(registry.RegisterMetaplexSymbol, 5, "NAM"),
		fact(registry.RegisterMetaplexURI, 5, "https://example.org/1"),
		fact(registry.RegisterMetaplexUpdateAuthority, 5, "authority3"),
		fact(registry.RegisterSellerFeeBasisPoints, 5, "250"),
		fact(registry.RegisterTokenStandard, 5, "2"),
		fact(registry.RegisterToken2022Name, 5, "Own name"),
		fact(registry.RegisterToken2022Symbol, 5, "OWN"),
		fact(registry.RegisterToken2022URI, 5, "https://example.org/2"),
		fact(registry.RegisterToken2022UpdateAuthority, 5, "authority4"),
		fact(registry.RegisterMetadataPointer, 5, mintA.String()),
		item(registry.RegisterExtension, "metadata_pointer", 5, ""),
		item(registry.RegisterExtension, "transfer_hook", 5, ""),
		item(registry.RegisterExtension, "transfer_hook.program_id", 5, "hook1"),
		fact(registry.RegisterOffchain, 5, `{"uri":"https://example.org/1","name":"Document"}`),
		fact(registry.RegisterLogo, 5, `{"url":"https://example.org/a.png","status":"ok"}`),
		{Mint: mintA, Register: registry.RegisterFirstSeen, Position: at(5).Reverse(), Value: "1700000000000"},
		fact(registry.RegisterLastSeen, 7, "1700000001000"),
		fact(registry.RegisterClosed, 5, "false"),
		{Mint: mintA, Register: registry.RegisterTokenList, Item: "list", Position: schemas.Position{Order: 3}, Value: `{"name":"Listed"}`},
		{Mint: mintA, Register: registry.RegisterToken2022Field, Item: ".website", Position: at(6), Value: "https://example.org"},
		{Mint: mintA, Register: registry.RegisterLogoOverride, Position: schemas.Position{Order: 3}, Value: `{"none":true}`},
		fact(registry.RegisterLaunchpad, 4, "pump"),
		fact(registry.RegisterCreator, 4, "authority5"),
		fact(registry.RegisterGraduated, 8, "1700000002000"),
		{Mint: mintA, Register: registry.RegisterRetraction, Item: "events 90-91", Position: schemas.Position{Order: 3}},
	}
}

// TestElementBytes pins version 1: whoever changes these bytes makes another version.
func TestElementBytes(t *testing.T) {
	element, ok := root.AppendEncode(nil, mintA, stateOf(whole()...))
	require.True(t, ok)
	want := "\x01\x2b" + mintA.String() + "\x01\x2b" + schemas.ProgramToken2022 + "\x02\x016\x03\x03700\x05\x0aauthority1\x06\x0aauthority2" +
		"\x07\x04Name\x08\x03NAM\x09\x15https://example.org/1\x0a\x0aauthority3\x0b\x03250\x0c\x012" +
		"\x0d\x08Own name\x0e\x03OWN\x0f\x15https://example.org/2\x10\x0aauthority4\x11\x2b" + mintA.String() +
		"\x12\x10metadata_pointer\x00\x12\x0dtransfer_hook\x00\x12\x18transfer_hook.program_id\x05hook1"
	require.Equal(t, want, string(element))
	require.Equal(t, "9fQyY9chXc8WoJ5b8xJUsvtBdjrp9qwdEedePWYZTX4T", byDefinition(1, map[pubkey.Key][]byte{mintA: element}).String())

	element, ok = root.AppendEncode(nil, mintA, stateOf(fact(registry.RegisterProgram, 1, "p"), fact(registry.RegisterDecimals, 1, "9")))
	require.True(t, ok)
	require.Equal(t, "012b"+hex.EncodeToString([]byte(mintA.String()))+"010170020139", hex.EncodeToString(element))
}

func TestEveryFieldOfTheChainCounts(t *testing.T) {
	before, _ := root.AppendEncode(nil, mintA, stateOf(whole()...))
	seen := map[string]registry.Register{string(before): 0}
	for i, f := range whole() {
		changed := whole()
		switch f.Register {
		case registry.RegisterDecimals, registry.RegisterSupply, registry.RegisterSupplyDelta, registry.RegisterSellerFeeBasisPoints:
			changed[i].Value += "1"
		case registry.RegisterTokenStandard:
			changed[i].Value = "1"
		case registry.RegisterClosed:
			changed[i].Value = "true"
		case registry.RegisterRetraction:
			changed[i].Item = "events 7-7"
		case registry.RegisterExtension:
			if f.Value == "" {
				changed[i].Item += "x"
			} else {
				changed[i].Value += "x"
			}
		default:
			changed[i].Value += "x"
		}
		after, _ := root.AppendEncode(nil, mintA, stateOf(changed...))
		if !root.Counts(f.Register) {
			require.Equal(t, before, after, "register %d is not the chain's word", f.Register)
			continue
		}
		other, taken := seen[string(after)]
		require.False(t, taken, "register %d gives the element that register %d gave", f.Register, other)
		seen[string(after)] = f.Register
	}
}

// TestEveryRegisterIsDecidedUpon fails when a register is added and nobody has said here whether it
// counts. One that counts makes another ElementVersion.
func TestEveryRegisterIsDecidedUpon(t *testing.T) {
	decided := map[string]bool{}
	for _, f := range whole() {
		decided[strconv.Itoa(int(f.Register))] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../fact.go", nil, 0)
	require.NoError(t, err)
	registers := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "Register") {
			number, ok := spec.Values[0].(*ast.BasicLit)
			require.True(t, ok, spec.Names[0].Name)
			require.True(t, decided[number.Value], "%s: add it to whole()", spec.Names[0].Name)
			registers++
		}
		return true
	})
	require.Equal(t, len(decided), registers)
	require.False(t, root.Counts(0))
	require.False(t, root.Counts(255), "what a newer version knows")
}

func TestWhatDoesNotCount(t *testing.T) {
	want, _ := root.AppendEncode(nil, mintA, stateOf(whole()...))
	for name, facts := range map[string][]registry.Fact{
		"a later sighting":             {fact(registry.RegisterProgram, 9, schemas.ProgramToken2022), fact(registry.RegisterDecimals, 9, "6")},
		"a later read":                 {fact(registry.RegisterSupply, 9, "700"), fact(registry.RegisterMintAuthority, 9, "authority1")},
		"the same extension again":     {item(registry.RegisterExtension, "transfer_hook", 9, "")},
		"extensions only reads name":   {item(registry.RegisterExtension, "token_metadata", 9, ""), item(registry.RegisterExtension, "unknown_99", 9, "")},
		"attributes only reads name":   {item(registry.RegisterExtension, "transfer_fee_config.withheld_amount", 9, "5")},
		"an attribute that is none":    {item(registry.RegisterExtension, "pausable.paused", 9, "")},
		"seen later":                   {fact(registry.RegisterLastSeen, 9, "1800000000000")},
		"another logo":                 {fact(registry.RegisterLogo, 9, `{"url":"x","status":"broken"}`)},
		"a register of later days":     {fact(254, 9, "x"), fact(255, 9, "x")},
		"an item where none belongs":   {item(registry.RegisterProgram, "x", 9, "y")},
		"a delta that a read covers":   {fact(registry.RegisterSupply, 9, "700"), item(registry.RegisterSupplyDelta, "c", 8, "5")},
		"a delta that is no number":    {item(registry.RegisterSupplyDelta, "c", 8, "five")},
		"opened again, as a read does": {fact(registry.RegisterClosed, 9, "false")},
	} {
		got, _ := root.AppendEncode(nil, mintA, stateOf(append(whole(), facts...)...))
		require.Equal(t, string(want), string(got), name)
	}
}

func TestEmptyIsUnknown(t *testing.T) {
	few := []registry.Fact{fact(registry.RegisterProgram, 1, "p"), fact(registry.RegisterDecimals, 1, "9")}
	want, ok := root.AppendEncode(nil, mintA, stateOf(few...))
	require.True(t, ok)
	for _, register := range []registry.Register{
		registry.RegisterMintAuthority, registry.RegisterFreezeAuthority, registry.RegisterMetaplexName, registry.RegisterMetaplexSymbol,
		registry.RegisterMetaplexURI, registry.RegisterMetaplexUpdateAuthority, registry.RegisterToken2022Name, registry.RegisterToken2022Symbol,
		registry.RegisterToken2022URI, registry.RegisterToken2022UpdateAuthority, registry.RegisterMetadataPointer,
	} {
		got, _ := root.AppendEncode(nil, mintA, stateOf(append(few, fact(register, 2, ""))...))
		require.Equal(t, want, got, "register %d", register)
	}
}

// TestElementIsTheTokensMeaning holds elements against what users see: a mint has one exactly when
// it is a member, and decoding it gives the fields of the row.
func TestElementIsTheTokensMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := factsOf(registrytest.Messages(60).Draw(t, "messages"))
		facts = append(facts, rapid.SliceOfN(rapid.Custom(oddFact), 0, 4).Draw(t, "odd")...)
		for mint, state := range fold(facts) {
			row, member := state.Token(mint)
			element, ok := root.AppendEncode(nil, mint, state)
			require.Equal(t, member, ok, "%v", state.Facts())
			if !ok {
				require.Nil(t, element)
				continue
			}
			got := decode(t, element)
			require.Equal(t, mint.String(), got.mint)
			require.Equal(t, fmt.Sprint(row.Decimals), got.fields[registry.RegisterDecimals])
			require.Equal(t, text(row.Supply), got.fields[registry.RegisterSupply], "%v", state.Facts())
			require.Equal(t, text(row.MintAuthority), got.fields[registry.RegisterMintAuthority])
			require.Equal(t, text(row.FreezeAuthority), got.fields[registry.RegisterFreezeAuthority])
			require.Equal(t, number(row.SellerFeeBasisPoints), got.fields[registry.RegisterSellerFeeBasisPoints])
			require.Equal(t, number(row.TokenStandard), got.fields[registry.RegisterTokenStandard])
			require.Equal(t, row.IsToken22, got.fields[registry.RegisterProgram] == schemas.ProgramToken2022)
			uri, authority := got.fields[registry.RegisterMetaplexURI], got.fields[registry.RegisterMetaplexUpdateAuthority]
			if got.fields[registry.RegisterMetadataPointer] == mint.String() {
				uri = first(uri, got.fields[registry.RegisterToken2022URI])
				authority = first(authority, got.fields[registry.RegisterToken2022UpdateAuthority])
			}
			require.Equal(t, state.MetadataURI(mint), uri, "what the chain says, also where it is not shown because it cannot be a URI")
			require.Equal(t, text(row.UpdateAuthority), authority)
		}
	})
}

// oddFact is a fact that no event of ours makes, as a foreign snapshot may hold.
func oddFact(t *rapid.T) registry.Fact {
	f := registry.Fact{
		Mint:     registry.WrappedSOL(),
		Register: registry.Register(rapid.IntRange(1, 23).Draw(t, "register")),
		Item:     rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "item"),
		Position: at(rapid.Uint64Range(1, 6).Draw(t, "slot")),
		Value: rapid.SampledFrom([]string{
			"", "0", "-0", "-", "+7", "007", "-5", "1e3", "18446744073709551615", "18446744073709551616", "-99999999999999999999999", "256", "3", "true", "x",
		}).Draw(t, "value"),
	}
	if rapid.Bool().Draw(t, "other mint") {
		f.Mint = mintA
	}
	return f
}

// decoded is what an element says.
type decoded struct {
	mint       string
	fields     map[registry.Register]string
	extensions []string
}

// decode proves that an element says one thing only: it reads every byte and finds the fields in
// their only order.
func decode(t require.TestingT, element []byte) decoded {
	require.EqualValues(t, root.ElementVersion, element[0])
	rest := element[1:]
	take := func() string {
		length, n := binary.Uvarint(rest)
		require.Positive(t, n)
		require.LessOrEqual(t, length, uint64(len(rest)-n))
		value := string(rest[n : n+int(length)])
		rest = rest[n+int(length):]
		return value
	}
	d := decoded{mint: take(), fields: map[registry.Register]string{}}
	var last registry.Register
	for len(rest) > 0 {
		register := registry.Register(rest[0])
		rest = rest[1:]
		value := take()
		if register == registry.RegisterExtension {
			if n := len(d.extensions); n > 0 {
				require.Greater(t, value, d.extensions[n-1])
			}
			d.extensions = append(d.extensions, value)
			attribute := take()
			require.Equal(t, strings.Contains(value, "."), attribute != "", value)
		} else {
			require.Greater(t, register, last)
			require.NotEmpty(t, value)
			d.fields[register] = value
		}
		last = register
	}
	return d
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

func number(value *int64) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

func FuzzElement(f *testing.F) {
	f.Add([]byte("mint"), "program", "6", "100", "-5", "name", "extension")
	f.Add([]byte{}, "p", "255", "18446744073709551616", "-99999999999999999999", strings.Repeat("n", 300), "")
	f.Fuzz(func(t *testing.T, bytes []byte, program, decimals, supply, delta, name, extension string) {
		state := stateOf(
			fact(registry.RegisterProgram, 1, program), fact(registry.RegisterDecimals, 1, decimals), fact(registry.RegisterSupply, 1, supply),
			item(registry.RegisterSupplyDelta, "x", 2, delta), fact(registry.RegisterMetaplexName, 1, name), item(registry.RegisterExtension, extension, 1, ""),
		)
		var mint pubkey.Key
		copy(mint[:], bytes)
		row, member := state.Token(mint)
		element, ok := root.AppendEncode(nil, mint, state)
		require.Equal(t, member, ok)
		if !ok {
			return
		}
		d := decode(t, element)
		require.Equal(t, []string{mint.String(), program, name, text(row.Supply)},
			[]string{d.mint, d.fields[registry.RegisterProgram], d.fields[registry.RegisterMetaplexName], d.fields[registry.RegisterSupply]})
	})
}
